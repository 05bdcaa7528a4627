# SPDX-License-Identifier: Apache-2.0
"""Which two runs may be compared: everything equal but the one variable that is declared (R95, R98, T9). Pure.

What is compared is what can change an outcome: the texts of the cases and what is expected of them, both
roles with what they are told, sampling, servers, constructs. Left out on purpose:

* names, versions and labels of a corpus, and the profile: the texts themselves are compared;
* the code of evalsite and its packages: a verification derives the results of both runs again with one and
  the same code, and how prompts are rendered is told by their version;
* hosts: the same model by digest, on a server of the same version, is the same wherever it runs.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from evalsite.canonical.digest import digest_value
from evalsite.judging.constructs import constructs_of
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import DesignLock
from evalsite.schema.outcome import Protocol
from evalsite.schema.plan import Plan, PlannedCase, RolePlan

_NOT_TOLD = "(not told)"
_NONE = "(none)"
_CUT = 40
_NOT_COMPARED = frozenset({"host", "kind"})  # where a server stands changes no outcome; the kind follows from the mode


class Variable(StrEnum):
    """The one thing under test, declared before the outcomes are looked at."""

    CANDIDATE = "candidate"  # the model that answers
    CANDIDATE_PROMPT = "candidate-prompt"  # what it is told, and the form of its reply
    CANDIDATE_SAMPLING = "candidate-sampling"  # how it is sampled
    JUDGE = "judge"  # the model that judges
    JUDGE_SAMPLING = "judge-sampling"  # how it is sampled
    RUBRIC = "rubric"  # what the judge is told, and the construct that it measures
    CORPUS_TEXT = "corpus-text"  # the cases: their texts, what is expected of them, which there are
    SERVER = "server"  # the version of the software that serves both roles


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """One field that differs between two plans, with both values as text.

    ``variable`` is null where no declaration makes up for it: such runs are never compared.
    """

    field: str
    before: str
    after: str
    variable: Variable | None

    def __str__(self) -> str:
        """Return field and values in a few words; digests are cut."""
        return f"{self.field}: {_cut(self.before)} -> {_cut(self.after)}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesBreak:
    """A criterion whose construct changed: its scores before and after are two series (R98)."""

    criterion: str
    before: str
    after: str


def differences(before: Plan, after: Plan) -> tuple[Difference, ...]:
    """Return every field that differs between two plans and can change an outcome."""
    return tuple(
        Difference(field=field, before=left, after=right, variable=variable)
        for field, variable, left, right in _both(_fields(before), _fields(after))
        if left != right and not _says_again(field, left, right)
    )


def declarable(found: Iterable[Difference]) -> Variable | None:
    """Return the variable that explains every difference, if there is exactly one that does."""
    variables = {difference.variable for difference in found}
    return next(iter(variables)) if len(variables) == 1 else None


def same_judge(found: Iterable[Difference]) -> bool:
    """Return whether nothing differs in the judge, in what it is told and in what it measures."""
    return not any(difference.field.startswith(("judge.", "constructs.")) for difference in found)


def undeclared(found: Iterable[Difference], variable: Variable | None) -> tuple[Difference, ...]:
    """Return the differences that a declaration does not cover: with any of them runs are not compared (R95)."""
    return tuple(
        difference for difference in found if difference.variable is None or difference.variable is not variable
    )


def lock_of(plan: Plan) -> DesignLock:
    """Return the constants that a plan's grades are read with."""
    return plan.calibration.design_lock if plan.calibration else DEFAULT_LOCK


def series_breaks(before: Plan, after: Plan) -> tuple[SeriesBreak, ...]:
    """Return the criteria whose construct versions differ (R98)."""
    left, right = constructs_of(before), constructs_of(after)
    return tuple(
        SeriesBreak(criterion=criterion.value, before=left[criterion], after=right[criterion])
        for criterion in left
        if criterion in right and left[criterion] != right[criterion]
    )


def _cut(text: str) -> str:
    return text if len(text) <= _CUT else f"{text[:_CUT]}..."


_Field = tuple[Variable | None, str]


def _fields(plan: Plan) -> dict[str, _Field]:
    fields: dict[str, _Field] = {
        "mode": (None, plan.mode.value),
        "protocol": (None, plan.protocol.value),
        "repetitions": (None, str(plan.repetitions)),
    }
    if plan.protocol is Protocol.GRADED:
        fields["bins"] = (None, ", ".join(str(edge) for edge in lock_of(plan).bins))
    fields |= {name: (Variable.CORPUS_TEXT, value) for case in plan.cases for name, value in _case(case)}
    if plan.candidate is not None:
        fields |= _role(
            "candidate", plan.candidate, Variable.CANDIDATE, Variable.CANDIDATE_SAMPLING, Variable.CANDIDATE_PROMPT
        )
    fields |= _role("judge", plan.judge, Variable.JUDGE, Variable.JUDGE_SAMPLING, Variable.RUBRIC)
    fields |= {
        f"constructs.{criterion.value}": (Variable.RUBRIC, version)
        for criterion, version in constructs_of(plan).items()
    }
    return fields


def _case(case: PlannedCase) -> Iterator[tuple[str, str]]:
    place = f"cases[{case.case_id}]"
    yield f"{place}.fingerprint", case.fingerprint
    yield f"{place}.critical", str(case.critical).lower()
    yield f"{place}.expected_action", _text(case.expected_action)
    yield f"{place}.must_refuse", _text(case.must_refuse)


def _role(name: str, role: RolePlan, model: Variable, sampling: Variable, told: Variable) -> dict[str, _Field]:
    endpoint = {key: value for key, value in role.spec.endpoint.plain().items() if key not in _NOT_COMPARED}
    identity = role.identity
    fields: dict[str, _Field] = {
        f"{name}.endpoint.{key}": (model, digest_value(value) if isinstance(value, list) else _text(value))
        for key, value in endpoint.items()
    }
    fields |= {
        f"{name}.identity.model_name": (model, _text(identity.model_name)),
        f"{name}.identity.model_digest": (model, _text(identity.model_digest)),
        f"{name}.identity.quantization": (model, _text(identity.quantization)),
        f"{name}.identity.server_version": (Variable.SERVER, _text(identity.server_version)),
    }
    fields |= {f"{name}.sampling.{key}": (sampling, _text(value)) for key, value in role.spec.sampling.plain().items()}
    fields |= {
        f"{name}.instructions_digest": (told, role.instructions_digest),
        f"{name}.prompt_version": (told, role.prompt_version),
        f"{name}.contract_digest": (told, role.contract_digest),
    }
    return fields


def _both(before: dict[str, _Field], after: dict[str, _Field]) -> Iterator[tuple[str, Variable | None, str, str]]:
    for field in dict.fromkeys((*before, *after)):
        left, right = before.get(field), after.get(field)
        variable = (left or right or (None, ""))[0]
        yield field, variable, left[1] if left else _NONE, right[1] if right else _NONE


def _says_again(field: str, left: str, right: str) -> bool:
    """Return whether a field only repeats that a case is in one of the plans: its fingerprint says it."""
    return field.startswith("cases[") and not field.endswith(".fingerprint") and _NONE in (left, right)


def _text(value: object) -> str:
    if value is None:
        return _NOT_TOLD
    return str(value).lower() if isinstance(value, bool) else str(value)

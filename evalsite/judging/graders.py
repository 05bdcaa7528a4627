# SPDX-License-Identifier: Apache-2.0
"""What code decides about an answer's text (R47): the same code while a run goes on and when it is verified. Pure.

An answer is untrusted text. A check is true or false of it, and never an exception: what cannot be read as the
check needs it does not fulfil it.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal

from evalsite.canonical.strictjson import parse_json
from evalsite.errors import InputError
from evalsite.schema import bounds
from evalsite.schema.base import Finding, Severity
from evalsite.schema.codechecks import CodeCheck, ExactCheck, JsonCheck, JsonField, NumberCheck, PatternCheck, SetCheck
from evalsite.schema.corpus import BinaryCase, BinaryCorpus, Corpus

_NUMBER = re.compile(r"(?<![\w.,])[-+]?[0-9]{1,15}(?:\.[0-9]{1,9})?(?![\w]|[.,][0-9])")
_STEP = re.compile(r"[^.\[\]]+|\[[0-9]+\]")
_ABSENT = object()
#: A behaviour that is told by the flags of the reply, as in ``refused: true``.
_FLAGS = re.compile(r"\b(?:action|refused|must_refuse|expected_action)\b\s*[=:]|\brefused is\b", re.IGNORECASE)


def failed_checks(checks: Sequence[CodeCheck], response: str) -> tuple[str, ...]:
    """Return the names of the checks that an answer does not fulfil, in their order.

    Args:
        checks: The checks of the case, as fixed in the plan.
        response: The text of the candidate's answer, unaltered.
    """
    return tuple(check.name for check in checks if not fulfils(check, response))


def reference_findings(corpus: Corpus, place: Callable[[str], str]) -> tuple[Finding, ...]:
    """Return where a corpus's own examples and its checks by code contradict each other (R4, R47).

    Args:
        corpus: Any corpus; only the binary protocol has checks.
        place: From a field's path to ``file:line``.
    """
    cases = corpus.cases if isinstance(corpus, BinaryCorpus) else ()
    return tuple(finding for index, case in enumerate(cases) for finding in _contradictions(index, case, place))


def _contradictions(index: int, case: BinaryCase, place: Callable[[str], str]) -> Iterator[Finding]:
    if missed := failed_checks(case.checks or (), case.positive_reference.response):
        yield Finding(
            code="reference-fails-check",
            severity=Severity.ERROR,
            at=place(f"cases[{index}].positive_reference.response"),
            message=f"{case.id}: the positive reference does not fulfil {', '.join(missed)}",
            rule="R47",
        )
    if missed := failed_checks(case.checks or (), case.negative_counterexample.response):
        yield Finding(
            code="code-decides-control",
            severity=Severity.WARNING,
            at=place(f"cases[{index}].negative_counterexample.response"),
            message=f"{case.id}: code alone finds the counter-example ({', '.join(missed)}): it tries no judge",
            rule="R4, R47",
        )
    for field in ("required_behavior", "forbidden_behavior"):
        if _FLAGS.search(getattr(case, field)):
            yield Finding(
                code="code-question",
                severity=Severity.WARNING,
                at=place(f"cases[{index}].{field}"),
                message=f"{case.id}: the judge is asked about action or refused, which code compares already",
                rule="R47",
            )


def fulfils(check: CodeCheck, response: str) -> bool:
    """Return whether an answer's text fulfils one check."""
    if isinstance(check, ExactCheck):
        return response.strip() in {text.strip() for text in check.expected}
    if isinstance(check, PatternCheck):
        flags = re.IGNORECASE if check.ignore_case else 0
        text = response[: bounds.MAX_RESPONSE_CHARS]  # the reader of replies lets no longer one through
        return (re.search(check.pattern, text, flags) is not None) is check.found
    if isinstance(check, NumberCheck):
        return _is_near(check, response)
    if isinstance(check, JsonCheck):
        return _holds(check.fields, response)
    return _lists(check, response)


def _is_near(check: NumberCheck, response: str) -> bool:
    found = _NUMBER.findall(response)
    return len(found) == 1 and abs(Decimal(found[0]) - Decimal(check.expected)) <= Decimal(check.tolerance)


def _holds(fields: Sequence[JsonField], response: str) -> bool:
    try:
        value = parse_json(response.encode("utf-8", "surrogatepass"), max_bytes=bounds.MAX_REPLY_BYTES)
    except InputError:
        return False
    return all(_same(_at(value, field.path), field.expected) for field in fields)


def _at(value: object, path: str) -> object:
    for step in _STEP.findall(path):
        if step.startswith("["):
            index = int(step[1:-1])
            value = value[index] if isinstance(value, list) and index < len(value) else _ABSENT
        else:
            value = value.get(step, _ABSENT) if isinstance(value, dict) else _ABSENT
    return value


def _same(found: object, expected: object) -> bool:
    return type(found) is type(expected) and found == expected  # true is not 1


def _lists(check: SetCheck, response: str) -> bool:
    given = [part.strip().casefold() for part in response.split(check.separator)]
    return sorted(given) == sorted({item.strip().casefold() for item in check.expected})

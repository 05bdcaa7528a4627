# SPDX-License-Identifier: Apache-2.0
"""Retention and access rules of a corpus: ``corpora/<name>/policy.yaml`` (R112).

A policy says what is kept, for how long, from which event on, why, who may see it and what happens
when its time is over. Legal dates and periods stand in the owner's policy, never in this code; this
module only reads rules and does the calendar. Nothing is deleted here: a kind without a rule is
kept, and said to be without one.

The calendar: months and years are added to the day of the trigger and clamped to the last day of
the month (31 January + P1M = 28 or 29 February), then weeks and days. A due day ends at 24:00 UTC:
an item may be disposed of on the day after. Of several limits, hold > floor > ceiling > keep.
"""

import re
from calendar import monthrange
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from pathlib import Path
from stat import S_ISREG
from typing import Annotated, Literal

from pydantic import Field, StringConstraints, model_validator

from evalsite.canonical.digest import digest_bytes
from evalsite.errors import InputError
from evalsite.schema import bounds
from evalsite.schema.base import CaseId, Day, Finding, Severity, ShortText, StrictModel, Text
from evalsite.schema.corpus import DataClass
from evalsite.yamltext import parse_yaml

MAX_RULES = 64
FOREVER = "forever"
#: Every length of month and leap year occurs among the days of these four years.
_FIRST_DAY, _DAYS = date(2023, 1, 1), 1461

#: An ISO 8601 duration of whole years, months, weeks and days; ``P0D`` is a duration too.
Duration = Annotated[
    str,
    StringConstraints(
        pattern=r"^P(?:[0-9]{1,3}Y(?:[0-9]{1,3}M)?(?:[0-9]{1,4}D)?|[0-9]{1,3}M(?:[0-9]{1,4}D)?|[0-9]{1,4}D|[0-9]{1,3}W)$"
    ),
]
Keep = Duration | Literal["forever"]


class Access(StrEnum):
    """Who a site is built for: an edition, widest first."""

    PUBLIC = "public"
    INTERNAL = "internal"
    RESTRICTED = "restricted"


class Kind(StrEnum):
    """The kinds of things that are kept."""

    PAYLOAD = "payload"
    JUDGE = "judge"
    TRACE = "trace"
    ATTACHMENT = "attachment"
    RECORD = "record"
    DECISION = "decision"
    SIGNATURE = "signature"
    PAGE = "page"


class Trigger(StrEnum):
    """The event from which a period runs; until it has happened, the period has not started."""

    RUN_FINISHED = "run.finished"
    DECISION_EFFECTIVE = "decision.effective"
    SYSTEM_WITHDRAWN = "system.withdrawn"
    SUBJECT_REQUEST = "subject.request"
    FIXED_DATE = "fixed-date"


class Basis(StrictModel):
    """Why: what the owner cites. The software repeats it and does not judge it."""

    kind: Literal["legal", "contract", "policy", "consent"]
    cite: Text


class Rule(StrictModel):
    """One retention rule. ``on`` is the day of a ``fixed-date`` trigger and belongs to no other."""

    id: CaseId
    applies_to: Annotated[tuple[Kind, ...], Field(min_length=1)]
    keep: Keep
    floor: Duration | None = None
    ceiling: Duration | None = None
    trigger: Trigger
    on: Day | None = None
    basis: Basis
    action: Literal["delete", "crypto-shred", "redact", "aggregate", "transfer", "review"]

    @model_validator(mode="after")
    def _is_coherent(self) -> "Rule":
        if (self.trigger is Trigger.FIXED_DATE) != (self.on is not None):
            message = "the trigger fixed-date needs the day `on`, and no other trigger has one"
            raise ValueError(message)
        if len(set(self.applies_to)) != len(self.applies_to):
            message = "a kind stands twice in applies_to"
            raise ValueError(message)
        if self.floor is not None and self.ceiling is not None and _can_exceed(self.floor, self.ceiling):
            message = f"the floor {self.floor} can exceed the ceiling {self.ceiling}"
            raise ValueError(message)
        return self


class RetentionPolicy(StrictModel):
    """The retention and access rules of one corpus. ``owner`` is a role, never a name."""

    format: Literal["evalsite/policy/v1"]
    data_class: DataClass
    access: Access
    owner: ShortText
    effective: Day
    rules: Annotated[tuple[Rule, ...], Field(max_length=MAX_RULES)]

    @model_validator(mode="after")
    def _is_coherent(self) -> "RetentionPolicy":
        ids = [rule.id.casefold() for rule in self.rules]
        if len(set(ids)) != len(ids):
            message = "two rules share an id"
            raise ValueError(message)
        return self

    def rules_for(self, kind: Kind) -> tuple[Rule, ...]:
        """Return the rules that apply to a kind, in file order."""
        return tuple(rule for rule in self.rules if kind in rule.applies_to)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedPolicy:
    """A policy with its file: the name for readers, the digest of the bytes, the line of every rule."""

    name: str
    digest: str
    policy: RetentionPolicy
    rule_places: tuple[str, ...]


def load_policy(path: Path, *, name: str | None = None) -> LoadedPolicy:
    """Read and validate one policy file.

    Args:
        path: The file; symbolic links are not followed.
        name: How errors and findings shall show it; ``corpora/<corpus>/policy.yaml`` by default.

    Raises:
        InputError: Absent, no regular file, no YAML of the profile, or no valid policy; the place
            is ``file:line`` and the field's path.
    """
    shown = name if name is not None else "/".join(("corpora", *path.parts[-2:]))
    try:
        found = path.lstat()
    except OSError as exc:
        raise InputError("expected a policy file, found none", at=shown, rule="R112") from exc
    if not S_ISREG(found.st_mode):
        raise InputError("expected a regular file, got a link or something else", at=shown, rule="lstat")
    if found.st_size > bounds.MAX_YAML_BYTES:
        message = f"expected at most {bounds.MAX_YAML_BYTES} bytes, got {found.st_size}"
        raise InputError(message, at=shown, rule="size limit")
    return parse_policy(path.read_bytes(), name=shown)


def parse_policy(data: bytes, *, name: str) -> LoadedPolicy:
    """Return the policy in ``data``.

    Raises:
        InputError: No YAML of the profile, or no valid policy; the place is ``name:line`` and the field's path.
    """
    document = parse_yaml(data, name=name, max_bytes=bounds.MAX_YAML_BYTES)
    try:
        policy = RetentionPolicy.from_value(document.value)
    except InputError as exc:
        raise document.located(exc) from exc
    places = tuple(document.place(f"rules[{index}]") for index in range(len(policy.rules)))
    return LoadedPolicy(name=name, digest=digest_bytes(data), policy=policy, rule_places=places)


def add_duration(day: str, duration: str) -> str:
    """Return ``day`` plus an ISO 8601 duration, by the calendar rule of this module.

    A day beyond the year 9999 becomes its last one.

    Raises:
        ValueError: No day or no duration (a bug in the caller).
    """
    found = re.fullmatch(r"P(?:(\d+)Y)?(?:(\d+)M)?(?:(\d+)W)?(?:(\d+)D)?", duration)
    if found is None or duration == "P":
        raise ValueError(duration)
    years, months, weeks, days = (int(part or 0) for part in found.groups())
    start = date.fromisoformat(day)
    total = start.month - 1 + months + 12 * years
    year, month = start.year + total // 12, total % 12 + 1
    if year > date.max.year:
        return date.max.isoformat()
    clamped = date(year, month, min(start.day, monthrange(year, month)[1]))
    span = timedelta(weeks=weeks, days=days)
    return (clamped + min(span, date.max - clamped)).isoformat()


def due_date(rule: Rule, trigger_day: str | None) -> str | None:
    """Return the last day on which an item must be kept, or null when no such day is known.

    Null means either that the rule keeps forever or that its trigger has not happened yet. A floor
    moves the day out and wins over a ceiling, which moves it in. A hold is not known here and
    stands above all of it.

    Args:
        rule: The rule.
        trigger_day: The day on which its trigger happened, ``YYYY-MM-DD`` in UTC; null: not yet.
            A ``fixed-date`` rule takes its own day.
    """
    start = rule.on if rule.trigger is Trigger.FIXED_DATE else trigger_day
    if start is None:
        return None
    due = None if rule.keep == FOREVER else add_duration(start, rule.keep)
    if rule.ceiling is not None:
        latest = add_duration(start, rule.ceiling)
        due = latest if due is None else min(due, latest)
    if rule.floor is not None and due is not None:
        due = max(due, add_duration(start, rule.floor))
    return due


def is_due(due: str | None, *, as_of: str) -> bool:
    """Return whether a due day has ended by the beginning of ``as_of`` (both UTC days)."""
    return due is not None and as_of > due


def _can_exceed(floor: str, ceiling: str) -> bool:
    """Return whether there is a day from which the floor reaches further than the ceiling."""
    days = ((_FIRST_DAY + timedelta(days=offset)).isoformat() for offset in range(_DAYS))
    return any(add_duration(day, floor) > add_duration(day, ceiling) for day in days)


def allowed_editions(data_class: DataClass, *, redacted: bool = False) -> tuple[Access, ...]:
    """Return the editions in which texts of a class may stand, widest first.

    Synthetic texts may stand anywhere, internal ones from the internal edition on, personal ones
    there only after redaction, restricted ones in the restricted edition alone.
    """
    if data_class is DataClass.SYNTHETIC:
        return tuple(Access)
    if data_class is DataClass.INTERNAL or (data_class is DataClass.PERSONAL and redacted):
        return (Access.INTERNAL, Access.RESTRICTED)
    return (Access.RESTRICTED,)


def check_policy(loaded: LoadedPolicy, *, corpus_class: DataClass | None = None) -> list[Finding]:
    """Return what a valid policy leaves open or permits too widely.

    Args:
        loaded: The policy.
        corpus_class: The class that the corpus itself declares, to be compared with the policy's.
    """
    policy = loaded.policy
    found = [_without_rule(loaded, kind) for kind in Kind if not policy.rules_for(kind)]
    for kind in Kind:
        rules = policy.rules_for(kind)
        triggers = [rule.trigger for rule in rules]
        if len(set(triggers)) != len(triggers):
            ids = ", ".join(rule.id for rule in rules)
            message = f"several rules for {kind.value} run from the same trigger: {ids}; state one"
            found.append(_finding(loaded, "rules-overlap", message))
    allowed = allowed_editions(policy.data_class)
    if policy.access not in allowed:
        message = (
            f"the class {policy.data_class.value} allows {' and '.join(allowed)}, but access is {policy.access.value}"
        )
        found.append(_finding(loaded, "access-too-wide", message, severity=Severity.ERROR))
    if corpus_class is not None and corpus_class is not policy.data_class:
        message = f"the corpus is {corpus_class.value}, the policy says {policy.data_class.value}"
        found.append(_finding(loaded, "class-mismatch", message, severity=Severity.ERROR))
    return found


def check_declared(data_class: DataClass, *, policy: LoadedPolicy | None, corpus: str) -> list[Finding]:
    """Return an error when real data has no policy: then it must not be recorded or published (R112)."""
    if policy is not None:
        return []
    severity = Severity.NOTE if data_class is DataClass.SYNTHETIC else Severity.ERROR
    message = f"the corpus is {data_class.value} and has no policy.yaml; everything is kept"
    return [Finding(code="policy-missing", severity=severity, at=f"corpora/{corpus}", message=message, rule="R112")]


def _without_rule(loaded: LoadedPolicy, kind: Kind) -> Finding:
    message = f"no rule for {kind.value}: it is kept until there is one"
    return _finding(loaded, "no-rule", message, severity=Severity.WARNING)


def _finding(loaded: LoadedPolicy, code: str, message: str, *, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(code=code, severity=severity, at=loaded.name, message=message, rule="R112")

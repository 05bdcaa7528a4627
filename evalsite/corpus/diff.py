# SPDX-License-Identifier: Apache-2.0
"""What differs between two corpora, field by field.

A change names ids, field paths and digests, never text, so that the list can be shown where the
texts themselves may not be. A digest of a short text can be guessed: it does not hide what it is of.
"""

from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Any

from evalsite.canonical.digest import digest_value
from evalsite.corpus.load import LoadedCorpus
from evalsite.schema.base import DigestText, StrictModel
from evalsite.schema.corpus import GradedCorpus


class ChangeKind(StrEnum):
    """What happened to a field, or to a whole case, card, label or label set."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


class Change(StrictModel):
    """One difference from corpus a to corpus b.

    Args:
        subject: ``corpus``, ``case MISSING``, ``control TAIL``, ``card OSTRIVANE``, ``labels preset`` or
            ``label preset/some-case``.
        field: Path inside the subject; empty when the subject as a whole was added or removed.
        public: Whether a candidate can see the field: its messages change with it (R7).
        before: Digest of the value in a; null when there was none.
        after: Digest of the value in b; null when there is none.
    """

    kind: ChangeKind
    subject: str
    field: str
    public: bool
    before: DigestText | None
    after: DigestText | None

    def __str__(self) -> str:
        """Return the change in one line, such as ``changed case MISSING input.message (public)``."""
        seen = "public" if self.public else "private"
        return " ".join(part for part in (self.kind.value, self.subject, self.field, f"({seen})") if part)


def diff_corpora(a: LoadedCorpus, b: LoadedCorpus) -> list[Change]:
    """Return every difference between two corpora: frame, cases, cards, labels, in this order.

    The order of cases is compared as the corpus's own field ``case_order``, since it is the order
    in which they run.
    """
    before, after = _subjects(a), _subjects(b)
    changes: list[Change] = []
    for subject in [*before, *(name for name in after if name not in before)]:
        if subject in before and subject in after:
            changes += _fields(subject, before[subject], after[subject])
        elif subject in before:
            changes.append(_change(subject, "", before[subject], None))
        else:
            changes.append(_change(subject, "", None, after[subject]))
    return changes


def _subjects(loaded: LoadedCorpus) -> dict[str, dict[str, Any]]:
    corpus = loaded.corpus
    frame = corpus.plain()
    frame.pop("cases")
    frame.pop("cards", None)
    controls = frame.pop("controls", None) or []
    frame["case_order"] = [case.id for case in corpus.cases]
    found: dict[str, dict[str, Any]] = {"corpus": frame}
    found |= {f"case {case.id}": case.plain() for case in corpus.cases}
    found |= {f"control {control['id']}": control for control in controls}
    if isinstance(corpus, GradedCorpus):
        found |= {f"card {card.id}": card.plain() for card in corpus.cards}
    for label_set in loaded.label_sets:
        plain = label_set.plain()
        labels = plain.pop("labels")
        found[f"labels {label_set.name}"] = plain
        found |= {f"label {label_set.name}/{label['case_id']}": label for label in labels}
    return found


def _fields(subject: str, before: Mapping[str, Any], after: Mapping[str, Any], path: str = "") -> Iterator[Change]:
    for key in [*before, *(key for key in after if key not in before)]:
        field = f"{path}.{key}" if path else key
        old, new = before.get(key), after.get(key)
        if key in before and key in after:
            if isinstance(old, dict) and isinstance(new, dict):
                yield from _fields(subject, old, new, field)
            elif digest_value(old) != digest_value(new):
                yield _change(subject, field, old, new)
        elif key in before:
            yield _change(subject, field, old, None)
        else:
            yield _change(subject, field, None, new)


def _change(subject: str, field: str, before: object, after: object) -> Change:
    kind = ChangeKind.ADDED if before is None else ChangeKind.REMOVED if after is None else ChangeKind.CHANGED
    return Change(
        kind=kind,
        subject=subject,
        field=field,
        public=_is_public(subject, field),
        before=None if before is None else digest_value(before),
        after=None if after is None else digest_value(after),
    )


def _is_public(subject: str, field: str) -> bool:
    if subject == "corpus":
        return field == "instructions.candidate"
    return subject.startswith("case ") and (field == "input" or field.startswith("input."))

# SPDX-License-Identifier: Apache-2.0
"""The graph of a decision folder. Supersession is stored once, on the new record; the rest is computed."""

from collections import defaultdict
from collections.abc import Sequence

from evalsite.decisions.record import DecisionRecord, FileState, Reference, StatusNorm
from evalsite.schema.base import Finding, Severity

#: Records whose word counts when they say that they retire another one.
_IN_FORCE = (StatusNorm.ACCEPTED, StatusNorm.SUPERSEDED, StatusNorm.DEPRECATED)


def resolve(reference: Reference, records: Sequence[DecisionRecord]) -> list[DecisionRecord]:
    """Return the records of the folder that a reference can mean; several when a number stands twice."""
    by_slug = [record for record in records if reference.slug is not None and record.slug == reference.slug]
    if by_slug:
        return by_slug
    return [
        record
        for record in records
        if record.state is FileState.RECORD and reference.number is not None and record.number == reference.number
    ]


def computed_superseded_by(records: Sequence[DecisionRecord]) -> dict[str, tuple[str, ...]]:
    """Return, by slug, the slugs of the records that say they supersede it.

    Only a record that was itself accepted retires another: what a draft or a proposal says about
    others is left out here and told by `check_decisions`.
    """
    edges: dict[str, set[str]] = defaultdict(set)
    for record in records:
        if record.status.norm not in _IN_FORCE:
            continue
        for reference in record.supersedes:
            for target in resolve(reference, records):
                if target.slug != record.slug:
                    edges[target.slug].add(record.slug)
    return {slug: tuple(sorted(sources)) for slug, sources in sorted(edges.items())}


def check_decisions(records: Sequence[DecisionRecord]) -> list[Finding]:
    """Return what is wrong between the records of one folder, sorted by place.

    Duplicate numbers, references to nothing, records that supersede themselves or each other in a
    circle, superseders that were never accepted, and superseded records that do not say so.
    """
    found = [*_duplicates(records), *_circles(records)]
    for record in records:
        for reference in (*record.supersedes, *record.superseded_by):
            if not resolve(reference, records):
                message = f"refers to {reference.raw}, which is not in this folder"
                found.append(_finding("reference-dangling", record, message))
        for reference in record.supersedes:
            for target in resolve(reference, records):
                found.extend(_about_pair(record, target, partial=reference.partial))
        for reference in record.superseded_by:
            found.extend(
                _finding("superseder-not-accepted", record, f"superseded by {by.id}, which is {by.status.norm.value}")
                for by in resolve(reference, records)
                if by.status.norm not in _IN_FORCE
            )
    return sorted(found, key=lambda finding: (finding.at, finding.code, finding.message))


def _about_pair(record: DecisionRecord, target: DecisionRecord, *, partial: bool) -> list[Finding]:
    if target.slug == record.slug:
        return [_finding("supersedes-itself", record, "supersedes itself", severity=Severity.ERROR)]
    if record.status.norm not in _IN_FORCE:
        message = f"claims to supersede {target.id}, but is itself {record.status.norm.value}"
        return [_finding("superseder-not-accepted", record, message)]
    if not partial and target.status.norm is StatusNorm.ACCEPTED:
        return [_finding("superseded-still-accepted", target, f"reads accepted, but {record.id} supersedes it")]
    return []


def _duplicates(records: Sequence[DecisionRecord]) -> list[Finding]:
    by_id: dict[str, list[DecisionRecord]] = defaultdict(list)
    for record in records:
        if record.number is not None:
            by_id[record.id].append(record)
    return [
        _finding("number-duplicate", record, f"{record.id} stands in {len(same)} files", severity=Severity.ERROR)
        for same in by_id.values()
        if len(same) > 1
        for record in same
    ]


def _circles(records: Sequence[DecisionRecord]) -> list[Finding]:
    """Return one finding for every record from which a chain of supersession leads back to itself."""
    by_slug = {record.slug: record for record in records}
    edges = computed_superseded_by(records)
    found: list[Finding] = []
    for slug in edges:
        seen: set[str] = set()
        waiting = list(edges[slug])
        while waiting:
            current = waiting.pop()
            if current in seen:
                continue
            seen.add(current)
            waiting.extend(edges.get(current, ()))
        if slug in seen:
            message = "supersession leads in a circle"
            found.append(_finding("supersession-circle", by_slug[slug], message, severity=Severity.ERROR))
    return found


def _finding(code: str, record: DecisionRecord, message: str, *, severity: Severity = Severity.WARNING) -> Finding:
    return Finding(code=code, severity=severity, at=record.path, message=message)

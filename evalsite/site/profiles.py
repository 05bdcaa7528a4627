# SPDX-License-Identifier: Apache-2.0
"""The state of each profile: what its newest campaign decided, and since when."""

from collections.abc import Iterable
from dataclasses import dataclass

from evalsite.schema.outcome import Mode
from evalsite.site import marks
from evalsite.site.marks import Mark
from evalsite.site.views import RunView


@dataclass(frozen=True, slots=True, kw_only=True)
class ProfileState:
    """What can be said of one profile: its state, since when, and the run that says so."""

    profile: str
    mark: Mark
    deciding: RunView
    newer_open: RunView | None
    runs: int


def profiles(views: Iterable[RunView]) -> list[ProfileState]:
    """Return the state of each profile: its newest sealed live run decides, whatever came before.

    A fixture run never decides a profile that was ever asked for real, and answers that were judged again
    decide none. What was decided comes first.
    """
    by_profile: dict[str, list[RunView]] = {}
    for view in sorted(views, key=lambda item: (item.run.opened_at, item.run_id)):
        if view.plan.answers is not None:
            continue  # its candidate was not asked
        by_profile.setdefault(view.plan.profile, []).append(view)
    states = [_profile(name, found) for name, found in sorted(by_profile.items())]
    return sorted(states, key=lambda state: marks.STATES.index(state.mark))


def _profile(name: str, found: list[RunView]) -> ProfileState:
    asked = [view for view in found if view.plan.mode is Mode.LIVE]
    candidates = asked or found
    sealed = [view for view in candidates if view.run.sealed]
    deciding = sealed[-1] if sealed else candidates[-1]
    newer = [view for view in candidates if not view.run.sealed and view.run.opened_at > deciding.run.opened_at]
    mark = deciding.state
    if not asked and mark in (marks.FIXTURE_PASSED, marks.FIXTURE_REFUSED):
        mark = marks.FIXTURE_ONLY
    return ProfileState(
        profile=name, mark=mark, deciding=deciding, newer_open=newer[-1] if newer else None, runs=len(found)
    )

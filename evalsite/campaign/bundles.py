# SPDX-License-Identifier: Apache-2.0
"""A bundle is verified as a project of its own: by the steps of a run, or by those of a disclosed case."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.campaign.project import RunState, inspect_alone
from evalsite.errors import IntegrityError
from evalsite.ledger.bundle import RULE, STEP_FILES, BundleManifest, check_files, read_manifest
from evalsite.ledger.disclosure import check_disclosure
from evalsite.ledger.evidence import NO_POLICY, NOBODY, Policy, Vouched
from evalsite.ledger.layout import LOG, RUNS, TRUST, check_name
from evalsite.ledger.ledgercheck import check_ledger
from evalsite.ledger.steps import Step
from evalsite.schema.checks import Check, Level


@dataclass(frozen=True, slots=True, kw_only=True)
class BundleState:
    """What was found in a bundle. ``level`` is null when no key could be read.

    ``notes`` say what the bundle does not hold: that is neither a failure nor a gap in the run.
    """

    manifest: BundleManifest
    checks: tuple[Check, ...]
    level: Level | None
    minimum_level: Level | None
    vouched: Vouched
    notes: tuple[str, ...]


def inspect_bundle(folder: Path, *, pins: Mapping[str, str], policy: Policy = NO_POLICY) -> BundleState:
    """Verify an unpacked bundle.

    Args:
        folder: The bundle's folder.
        pins: Root fingerprint per ledger that the verifier trusts; never from the bundle.
        policy: What else the verifier holds and trusts.

    Raises:
        InputError: No bundle.
    """
    manifest = read_manifest(folder)
    check_name(manifest.ledger, "ledger")
    check_name(manifest.run, "run")
    files = check_files(folder)
    if manifest.kind == "case":
        return _case(folder, manifest, files, pins)
    layout = _check_layout(folder, manifest)
    if not layout.holds:
        return _state(manifest, (files, layout))
    state = inspect_alone(folder, manifest.run, pins=pins, policy=policy)
    level, minimum = state.reached or (None, None)
    others = _other_runs(folder, manifest)
    unseen = (f"other runs of this log are not in this bundle: {others}",) if others else ()
    return BundleState(
        manifest=manifest,
        checks=(files, layout, *state.checks),
        level=level,
        minimum_level=minimum,
        vouched=state.vouched,
        notes=(*_answers_note(state), *unseen),
    )


def _answers_note(state: RunState) -> tuple[str, ...]:
    answers = None if state.trusted is None else state.trusted.plan.answers
    if answers is None:
        return ()
    return (f"the answers are said to be those of the run {answers.run}, which is not in this bundle to compare with",)


def _case(folder: Path, manifest: BundleManifest, files: Check, pins: Mapping[str, str]) -> BundleState:
    checks, level, minimum = check_disclosure(folder, manifest, pins)
    return BundleState(
        manifest=manifest,
        checks=(files, *checks),
        level=level,
        minimum_level=minimum,
        vouched=NOBODY,
        notes=("these are lines of one case: that they are all of its lines can be seen in the whole run only",),
    )


def _state(manifest: BundleManifest, checks: tuple[Check, ...]) -> BundleState:
    return BundleState(manifest=manifest, checks=checks, level=None, minimum_level=None, vouched=NOBODY, notes=())


def _check_layout(folder: Path, manifest: BundleManifest) -> Check:
    """Find every ledger and run that the manifest does not name: nothing would verify them."""
    step = Step(STEP_FILES + 1, "bundle holds the run and the ledger that it names")
    expected = {RUNS: {manifest.run, "trust", "log"}, TRUST: {manifest.ledger}, LOG: {manifest.ledger}}
    for name, members in expected.items():
        found = {path.name for path in (folder / name).iterdir()} if (folder / name).is_dir() else set()
        for member in sorted(found | members):
            with step.item("bundle.layout", f"{name}/{member}"):
                if member not in found or member not in members:
                    raise IntegrityError("expected the run and the ledger of the manifest, and no other", rule=RULE)
    return step.done()


def _other_runs(folder: Path, manifest: BundleManifest) -> int:
    facts = check_ledger(folder, manifest.ledger, None).facts
    return 0 if facts is None else len(set(facts.opened) - {manifest.run})

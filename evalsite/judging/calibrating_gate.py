# SPDX-License-Identifier: Apache-2.0
"""One calibration gate: PASS, FAIL or INSUFFICIENT, with every condition that does not hold (R63-R65, R88). Pure.

Decisions are made with exact rationals on the counts, never on a rounded rate:

* a rate of errors passes if so few of them were improbable at its tolerance, fails if so many were, and is
  undecided in between; "n more labels" says how many, all judged rightly, would decide it;
* the gate passes only if every condition passes (intersection-union: no correction for multiplicity);
* the i-th run against the same sealed labels is tested at alpha / 2^(i - 1), since whoever may try again
  until it passes will pass some day.

Labels that are not independently validated decide nothing, in neither direction: they demonstrate the method.
What needs no label, a failed control or a judge that always says the same, decides against the judge anyway.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from evalsite.judging.calibrating import Weighed
from evalsite.judging.calibrating_words import percent, words_of
from evalsite.judging.statistics.binomial import exact_gate, more_labels
from evalsite.ledger.labelbook import lock_digest
from evalsite.schema.calibration import CalibrationSeal, DesignLock, GateConstants, GateOutcome, Split, rate_of
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.tables import Effect, GateReason, GateResult, NamedFinding, Standing, Unavailable

FAIL: Effect = GateOutcome.FAIL
INSUFFICIENT: Effect = GateOutcome.INSUFFICIENT


@dataclass(frozen=True, slots=True, kw_only=True)
class Grounds:
    """What labels can carry, whatever they say: how they came about.

    ``alpha`` is Krippendorff's of the annotators as their revealed labels give it, null where it is undefined or
    nobody was aligned. ``hidden`` are those whose labels are not there to derive it from: what the log says of
    it is the word of whoever wrote the log. ``aligned`` tells whether that was logged before the run was opened.
    """

    name: str
    level: LabelLevel
    split: Split
    raters: int
    adjudicated: bool
    aligned: bool
    alpha: Fraction | None
    hidden: tuple[str, ...] = ()

    @property
    def validated(self) -> bool:
        """Return whether these labels may decide anything: blind, committed before the judge, kept for the gate."""
        return self.level is LabelLevel.HUMAN_BLIND_ANCHORED and self.split is Split.SEALED


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """Everything that a calibration gate looks at.

    ``mismatch`` says how labels and judge differ in what they measure (R80), ``unmeasured`` why no agreement
    may be stated (R73); both are null where nothing is wrong. ``controls`` is null where the run shows none.
    ``critical`` are case ids; ``findings`` are weaknesses that were shown without any label.
    """

    run: str
    weighed: Weighed
    grounds: Grounds
    attempt: int
    controls: bool | None
    critical: frozenset[str] = frozenset()
    findings: tuple[NamedFinding, ...] = ()
    mismatch: str | None = None
    unmeasured: str | None = None

    @property
    def lock(self) -> DesignLock:
        """Return the constants in force."""
        return self.weighed.scale.lock

    @property
    def alpha(self) -> Fraction:
        """Return the level that this attempt is tested at."""
        return rate_of(self.lock.alpha) * Fraction(1, 1 << (self.attempt - 1))


def decide_gate(facts: Facts) -> GateResult:
    """Decide one calibration gate.

    Raises:
        ValueError: The first attempt has the number 1 (a bug in the caller).
    """
    if facts.attempt < 1:
        raise ValueError(facts.attempt)
    reasons = tuple(_reasons(facts))
    effects = {reason.effect for reason in reasons}
    outcome = GateOutcome.FAIL if FAIL in effects else GateOutcome.INSUFFICIENT if effects else GateOutcome.PASS
    standing = _standing(facts)
    return GateResult(
        criterion=facts.weighed.scale.criterion,
        run=facts.run,
        labels=facts.grounds.name,
        outcome=outcome,
        standing=standing,
        attempt=facts.attempt,
        alpha=percent(facts.alpha),
        constants=lock_digest(facts.lock),
        words=words_of(facts.weighed, facts.alpha, outcome, standing),
        reasons=reasons,
    )


def seal_of(weighed: Weighed, outcome: GateOutcome) -> CalibrationSeal:
    """Return the counts of a calibration as they are signed in the log."""
    return CalibrationSeal(
        criterion=weighed.scale.criterion,
        labeled=len(weighed.human) - weighed.undecided,
        judged=len(weighed.pairs),
        agreed=weighed.agreed,
        false_pass=weighed.false_pass,
        false_fail=weighed.false_fail,
        outcome=outcome,
    )


def _standing(facts: Facts) -> Standing:
    if facts.unmeasured is not None:
        return Standing.NOT_MEASURED
    if facts.mismatch is not None:
        return Standing.INVALID
    return Standing.DECIDED if facts.grounds.validated else Standing.NOT_VALIDATED


def _reasons(facts: Facts) -> Iterator[GateReason]:
    if facts.unmeasured is not None:
        yield GateReason(code="not-measured", effect=INSUFFICIENT, message=facts.unmeasured, rule="R73")
        return
    yield from _without_labels(facts)
    if facts.mismatch is not None:
        yield GateReason(code="construct-mismatch", effect=INSUFFICIENT, message=facts.mismatch, rule="R80")
        return  # what labels of another construct say is no finding about this judge (R81)
    yield from _grounds(facts.grounds, facts.lock)
    constants = facts.lock.gate(facts.weighed.scale.criterion)
    if constants is None:
        message = f"the constants {facts.lock.name} hold none for {facts.weighed.scale.criterion.value}"
        yield GateReason(code="no-constants", effect=INSUFFICIENT, message=message, rule="R64")
        return
    for reason in (*_critical(facts), *_rates(facts.weighed, constants, facts.alpha)):
        yield reason if facts.grounds.validated else reason.model_copy(update={"effect": INSUFFICIENT})


def _without_labels(facts: Facts) -> Iterator[GateReason]:
    """Yield what counts against the judge whatever the labels say; no agreement outweighs it."""
    if facts.controls is None:
        message = "the run showed no controls to the judge before the items"
        yield GateReason(code="no-controls", effect=INSUFFICIENT, message=message, rule="R53, T2")
    elif not facts.controls:
        message = "the judge did not classify every control as expected"
        yield GateReason(code="controls", effect=FAIL, message=message, rule="R53, R68")
    for found in facts.findings:
        yield GateReason(
            code=found.code, effect=found.effect, message=found.message, rule=found.rule, items=found.items
        )


def _grounds(grounds: Grounds, lock: DesignLock) -> Iterator[GateReason]:
    def lacks(code: str, message: str, rule: str) -> GateReason:
        return GateReason(code=code, effect=INSUFFICIENT, message=message, rule=rule)

    if grounds.level is not LabelLevel.HUMAN_BLIND_ANCHORED:
        message = f"labels of the level {grounds.level.value} are not independently validated: a method demonstration"
        yield lacks("label-level", message, "T8")
    elif grounds.split is not Split.SEALED:
        yield lacks("label-split", "labels for development decide no gate: a judge is improved on them", "R64, T8")
    if grounds.raters < 2:  # noqa: PLR2004 - two can differ
        return
    if not grounds.adjudicated:
        yield lacks("not-adjudicated", "several annotators and no adjudication: no label is in force", "R75")
    if not grounds.aligned:
        yield lacks("alignment-order", "the annotators were not aligned before the judge's run was opened", "R78")
    if grounds.hidden:
        names = ", ".join(grounds.hidden)
        message = f"the annotators' alpha does not follow from labels until they are revealed: {names}"
        yield lacks("human-alpha-hidden", message, "R75, R78")
    elif grounds.alpha is None:
        yield lacks(
            "human-alpha", "the annotators' alpha is undefined: all their labels are alike", "calibration, gate"
        )
    elif grounds.alpha < rate_of(lock.minimum_human_alpha):
        message = f"the annotators' alpha is {float(grounds.alpha):.3f}, expected {lock.minimum_human_alpha} at least"
        yield lacks("human-alpha", message, "calibration, gate")


def _critical(facts: Facts) -> Iterator[GateReason]:
    """Yield what is wrong with critical cases: each has to be labelled, judged and right."""
    weighed = facts.weighed
    items = [item for item in weighed.human if item.case_id in facts.critical]
    wrong, open_ = [], [case for case in sorted(facts.critical) if case not in {item.case_id for item in items}]
    for item in items:
        human, judge = weighed.human[item], weighed.judge[item]
        if human is None or isinstance(judge, Unavailable):
            open_.append(item.label())
        elif human != judge:
            wrong.append(item.label())
    if wrong:
        message = "critical cases are judged wrongly"
        yield GateReason(
            code="critical-wrong", effect=FAIL, message=message, rule="calibration, gate", items=tuple(wrong)
        )
    if open_:
        message = "critical cases have no verdict, or no label that decides"
        yield GateReason(
            code="critical-open", effect=INSUFFICIENT, message=message, rule="calibration, gate", items=tuple(open_)
        )


def _rates(weighed: Weighed, constants: GateConstants, alpha: Fraction) -> Iterator[GateReason]:
    labeled, judged = len(weighed.human) - weighed.undecided, len(weighed.pairs)
    tests = [
        ("coverage", "missing verdicts", labeled - judged, labeled, constants.max_unavailable),
        ("false-pass", "false passes", weighed.false_pass, weighed.could_false_pass, constants.false_pass_tolerance),
        ("false-fail", "false fails", weighed.false_fail, weighed.could_false_fail, constants.false_fail_tolerance),
    ]
    if weighed.scale.graded and constants.minimum_agreement is not None:
        differing = str(1 - rate_of(constants.minimum_agreement))
        tests.append(("agreement", "disagreements", judged - weighed.agreed, judged, differing))
    for code, name, errors, of, tolerance in tests:
        reason = _rate(code, name, errors, of, Fraction(tolerance), alpha)
        if reason is not None:
            yield reason


def _rate(code: str, name: str, errors: int, of: int, tolerance: Fraction, alpha: Fraction) -> GateReason | None:
    """Return why a rate of errors does not pass; null if it does."""
    outcome = exact_gate(errors, of, tolerance, alpha)
    if outcome is GateOutcome.PASS:
        return None
    rule = "calibration, gate, R65" if code == "agreement" else "calibration, gate"
    found = f"{errors} {name} among {of} labels"
    if outcome is GateOutcome.FAIL and code != "coverage":
        message = f"{found}: demonstrably more than {percent(tolerance)}"
        return GateReason(code=code, effect=FAIL, message=message, rule=rule)
    more = more_labels(errors, of, tolerance, alpha)
    message = (
        f"{found} do not show less than {percent(tolerance)} at {percent(1 - alpha)} confidence: "
        f"{more} more of these labels, all judged rightly, would"
    )
    return GateReason(code=code, effect=INSUFFICIENT, message=message, rule=rule, more_labels=more)

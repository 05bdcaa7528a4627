# SPDX-License-Identifier: Apache-2.0
"""Labels against verdicts by counts: what calibration gates and tables are tried with."""

from fractions import Fraction

from evalsite.judging.calibrating import Observation, Scale, weigh
from evalsite.judging.calibrating_gate import Facts, Grounds
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.schema.calibration import Criterion, Split
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.labels import GivenLabel, LabelItem
from evalsite.schema.tables import Unavailable


def item(number, dimension=None):
    """Return an item of a corpus."""
    return LabelItem(case_id=f"case-{number}", repetition=None, dimension=dimension)


def weighed(*groups, criterion=Criterion.EVIDENCE, lock=DEFAULT_LOCK):
    """Return labels against verdicts of (human, judge, how many) each; a human's null is undecided."""
    labels, seen = {}, []
    for human, judge, count in groups:
        for _ in range(count):
            one = item(len(labels))
            labels[one] = GivenLabel(item=one, value=human, note=None)
            seen.append(Observation(item=one, repetition=1, outcome=judge, chars=len(labels)))
    return weigh(Scale(criterion=criterion, lock=lock), labels, seen)


def right(fails, passes):
    """Return labels that are all judged rightly."""
    return weighed((0, 0, fails), (1, 1, passes))


def grounds(**changes):
    """Return blind, sealed, adjudicated labels of two annotators that agree well."""
    value = {
        "name": "human",
        "level": LabelLevel.HUMAN_BLIND_ANCHORED,
        "split": Split.SEALED,
        "raters": 2,
        "adjudicated": True,
        "aligned": True,
        "alpha": Fraction(4, 5),
    }
    return Grounds(**{**value, **changes})


def facts(labels, **changes):
    """Return what a gate looks at: everything in order but what a test changes."""
    value = {"run": "run-1", "grounds": grounds(), "attempt": 1, "controls": True}
    return Facts(**{**value, "weighed": labels, **changes})


NULL, CUT = Unavailable.NULL, Unavailable.TRUNCATED

# SPDX-License-Identifier: Apache-2.0
"""What may be said of a calibration, and no more: the words depend on what was shown (T8, R65). Pure."""

from fractions import Fraction

from evalsite.judging.calibrating import Weighed
from evalsite.schema.calibration import GateOutcome
from evalsite.schema.tables import Standing

_HUNDRED = 100


def percent(rate: Fraction) -> str:
    """Return a rate in percent without needless zeros, such as ``2.5 %``."""
    digits = f"{float(rate * _HUNDRED):.4f}".rstrip("0").rstrip(".")
    return f"{digits} %"


def words_of(weighed: Weighed, alpha: Fraction, outcome: GateOutcome, standing: Standing) -> str:
    """Return one sentence about a gate's result."""
    labels = f"{weighed.could_false_pass} labels that fail and {weighed.could_false_fail} that pass"
    if standing is Standing.NOT_MEASURED:
        return "not measured: no live judge was asked, so that only reading and counting were exercised"
    if standing is Standing.INVALID:
        return "invalid: labels and judge are not about the same, so that nothing is said about the judge"
    if outcome is GateOutcome.FAIL:
        return "this judge is not to be relied on: see the reasons"
    if standing is Standing.NOT_VALIDATED:
        return "method demonstration: these labels are not independently validated, whatever the counts are"
    if outcome is GateOutcome.PASS:
        return f"calibrated at {percent(1 - alpha)} confidence on {labels} (blind, committed before the judge ran)"
    return "not decided: the evidence is too thin to rely on this judge, or to refuse it"

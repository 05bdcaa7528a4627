# SPDX-License-Identifier: Apache-2.0
"""What can be said about judge and candidate: never the word "independent" by itself (R114, T18)."""

from evalsite.schema.outcome import Mode
from evalsite.schema.plan import Plan


def independence(plan: Plan) -> str:
    """Return the statement about judge and candidate; it never says that a judge is independent."""
    candidate = plan.candidate
    judge = plan.judge
    if plan.mode is Mode.FIXTURE:
        return "Both roles were played by the fixture: no model was asked, so there is no judge to speak of."
    if candidate is None:
        return (
            "The judge read texts of the corpus; there was no candidate. "
            "Nothing here establishes the quality of the judge."
        )
    mine, other = candidate.identity, judge.identity
    if mine.model_digest is None or other.model_digest is None:
        same = None if mine.model_name != other.model_name else True
    else:
        same = mine.model_digest == other.model_digest
    hosts = (mine.endpoint_host, other.endpoint_host)
    place = "on the same endpoint" if hosts[0] is not None and hosts[0] == hosts[1] else "on different endpoints"
    if None in hosts:
        place = "on endpoints that were not told"
    if same is None:
        return (
            f"Whether judge and candidate are the same can't be told, since a digest is missing; they ran {place}. "
            "This does not provide an independent judge."
        )
    if same:
        return (
            f"Judge and candidate are the same by digest or name, and ran {place}. This does not provide an "
            "independent judge."
        )
    return (
        f"Judge and candidate differ by digest and ran {place}. This establishes neither independence nor quality of "
        "the judge."
    )

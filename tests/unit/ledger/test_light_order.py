# SPDX-License-Identifier: Apache-2.0
"""Light events of pairs keep their order: two orders of one pair are two trials (R97)."""

from support.campaigns import ZERO

from evalsite.ledger import light
from evalsite.schema.entries import Call, CallRecorded, TrialEnded, TrialStarted, Usage
from evalsite.schema.outcome import Order, Result, Role, Stage, Status, Trial, TrialKind, VerdictFacts
from evalsite.schema.replies import Winner

FRAME = {"format": "evalsite/event/v1", "run": "run", "prev": ZERO, "recorded_at": "2026-12-01T00:00:00Z"}


def attempt(order, seq):
    """Return the three events of one order."""
    trial = Trial(kind=TrialKind.CASE, case_id="A", repetition=1, polarity=None, dimension=None, order=order)
    call = Call(
        trial=trial,
        attempt=1,
        role=Role.JUDGE,
        stage=Stage.JUDGE,
        prompt_digest=ZERO,
        request=ZERO,
        reply=ZERO,
        reply_format="text",
        error_type=None,
        http_status=None,
        done_reason=None,
        model_digest=None,
        started_at="2026-12-01T00:00:00Z",
        wall_ms=1,
        usage=Usage(**dict.fromkeys(Usage.model_fields)),
    )
    result = Result(
        status=Status.JUDGED,
        stage=None,
        error_type=None,
        detail=None,
        answer=None,
        verdict=VerdictFacts(scored=True, winner=Winner.FIRST),
    )
    return [
        TrialStarted(**FRAME, seq=seq, type="trial.started", trial=trial, attempt=1),
        CallRecorded(**FRAME, seq=seq + 1, type="call.recorded", call=call),
        TrialEnded(
            **FRAME,
            seq=seq + 2,
            type="trial.ended",
            trial=trial,
            attempt=1,
            candidate_call=None,
            judge_call=seq + 1,
            result=result,
        ),
    ]


def test_two_orders_of_a_pair_stay_two_attempts() -> None:
    packer = light.Packer()
    for event in (*attempt(Order.AB, 1), *attempt(Order.BA, 4)):
        packer.take(event)
    one, other = light.load_events(packer.done())
    assert isinstance(one, light.LightAttempt)
    assert isinstance(other, light.LightAttempt)
    assert (one.trial.order, other.trial.order) == ("ab", "ba")
    assert one.trial.label() == "A ab #1"
    assert (one.calls, one.judge_call, one.status) == ((("judge", ZERO, ZERO),), 2, "Judged")


def test_interleaved_orders_are_handed_on_one_by_one() -> None:
    ab, ba = attempt(Order.AB, 1), attempt(Order.BA, 2)
    packer = light.Packer()
    for event in (ab[0], ba[0], ab[1], ba[1]):
        packer.take(event)
    found = list(light.load_events(packer.done()))
    assert [type(event).__name__ for event in found] == [
        "LightStarted",
        "LightStarted",
        "LightRecorded",
        "LightRecorded",
    ]
    orders = [found[0].trial.order, found[1].trial.order, found[2].call.trial.order, found[3].call.trial.order]
    assert orders == ["ab", "ba", "ab", "ba"]

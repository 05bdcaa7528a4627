# SPDX-License-Identifier: Apache-2.0
"""From a recorded call to an answer or a verdict, or to the reason why there is none.

Used twice with the same bytes: while a campaign runs, and whenever its record is verified. Nothing
is repaired, nothing is imputed, nothing is asked again (R23).
"""

from dataclasses import dataclass

from evalsite.endpoint.content import reply_content
from evalsite.errors import InputError
from evalsite.judging.prompts import PROMPT_VERSIONS, verdict_model
from evalsite.schema import bounds
from evalsite.schema.base import StrictModel
from evalsite.schema.entries import Call
from evalsite.schema.outcome import Protocol, Status, VerdictFacts
from evalsite.schema.replies import (
    BinaryVerdict,
    CandidateAnswer,
    EvidenceVerdict,
    GradedVerdict,
    GradedVerdictV2,
    PairwiseVerdict,
    Verdict,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unread:
    """Why a call has no answer or verdict: a status, a type name, and a place or rule."""

    status: Status
    error_type: str
    detail: str | None


def read_answer(call: Call, raw: bytes | None) -> CandidateAnswer | Unread:
    """Return the candidate's answer, or why there is none (R14-R19).

    Args:
        call: What was recorded of the call.
        raw: The exact bytes of the reply's body; null when none came.
    """
    content = _content(call, raw)
    if isinstance(content, Unread):
        return content
    parsed = _parse(CandidateAnswer, content)
    return parsed if isinstance(parsed, CandidateAnswer | Unread) else _wrong_model(parsed)


def read_verdict(protocol: Protocol, call: Call, raw: bytes | None, *, evidence_count: int = 0) -> Verdict | Unread:
    """Return the judge's verdict under its protocol, or why there is none (R17-R19, R24-R30).

    Args:
        protocol: Which contract applies; no other is tried.
        call: What was recorded of the call.
        raw: The exact bytes of the reply's body; null when none came.
        evidence_count: How many evidence items the judge was shown (evidence protocol).
    """
    content = _content(call, raw)
    if isinstance(content, Unread):
        return content
    nonce = None if call.framing is None else call.framing.nonce
    parsed = _parse(_contract(protocol, nonce), content)
    if isinstance(parsed, EvidenceVerdict):
        beyond = [index for index in parsed.evidence if index >= evidence_count]
        if beyond:
            return Unread(status=Status.CONTRACT_ERROR, error_type="UnknownEvidence", detail="evidence [R27]")
    if isinstance(parsed, GradedVerdictV2) and parsed.end_of_card != nonce:
        # Whatever it graded, it cannot show that it was given the end. No score follows, not even a low one.
        return Unread(status=Status.CONTRACT_ERROR, error_type="EndOfCardNotSeen", detail="end_of_card")
    if isinstance(parsed, BinaryVerdict | EvidenceVerdict | GradedVerdict | GradedVerdictV2 | PairwiseVerdict | Unread):
        return parsed
    return _wrong_model(parsed)


def facts_of(verdict: Verdict) -> VerdictFacts:
    """Return what a record keeps of a verdict: its decisions without its prose."""
    if isinstance(verdict, BinaryVerdict):
        return VerdictFacts(
            required_behavior_met=verdict.required_behavior_met,
            forbidden_behavior_absent=verdict.forbidden_behavior_absent,
        )
    if isinstance(verdict, PairwiseVerdict):
        return VerdictFacts(scored=verdict.winner is not None, winner=verdict.winner)
    evidence = verdict.evidence if isinstance(verdict, EvidenceVerdict) else None
    return VerdictFacts(scored=verdict.score is not None, score=verdict.score, evidence=evidence)


def _contract(protocol: Protocol, nonce: str | None) -> type[StrictModel]:
    """Return the contract of the reply: the framing tells which one, since only version 1 closed no cards."""
    closed = protocol is not Protocol.GRADED or nonce is not None
    return verdict_model(protocol, PROMPT_VERSIONS[protocol] if closed else "1")


def _undelivered(call: Call) -> Unread | None:
    """Return why no reply to the whole prompt came; null if one did."""
    if call.error_type == "TruncatedReply":
        # The output limit cut the reply. Even if the rest happens to parse, it is not what was meant.
        return Unread(status=Status.CONTRACT_ERROR, error_type="TruncatedReply", detail="done_reason length")
    if call.error_type is not None:
        return Unread(status=Status.TRANSPORT_ERROR, error_type=call.error_type, detail=None)
    if call.framing is not None and call.framing.cut:
        # The prompt did not arrive whole: what was judged is not what was to be judged.
        return Unread(status=Status.TRANSPORT_ERROR, error_type="TruncatedPrompt", detail="framing")
    return None


def _content(call: Call, raw: bytes | None) -> str | Unread:
    undelivered = _undelivered(call)
    if undelivered is not None:
        return undelivered
    if raw is None:
        return Unread(status=Status.MISSING_ANSWER, error_type="NoBody", detail=None)
    try:
        content = reply_content(raw, call.reply_format)
    except InputError as exc:
        return Unread(status=Status.CONTRACT_ERROR, error_type="UnreadableBody", detail=exc.rule or None)
    if not content:
        return Unread(status=Status.MISSING_ANSWER, error_type="NoContent", detail=None)
    return content


def _parse(model: type[StrictModel], content: str) -> StrictModel | Unread:
    try:
        data = content.encode("utf-8")
    except UnicodeEncodeError:
        return Unread(status=Status.CONTRACT_ERROR, error_type="NotUnicode", detail="lone surrogate")
    try:
        return model.parse(data, max_bytes=bounds.MAX_REPLY_BYTES)
    except InputError as exc:
        return Unread(status=Status.CONTRACT_ERROR, error_type=_kind(exc, content), detail=_detail(model, exc))


def _kind(exc: InputError, content: str) -> str:
    """Name the broken contract: no JSON, JSON but no object, or an object of another shape (R30)."""
    if not exc.rule.startswith("schema: "):
        return "NotJson"
    return "WrongShape" if content.lstrip(" \t\r\n").startswith("{") else "NotAnObject"


def _detail(model: type[StrictModel], exc: InputError) -> str:
    """Return place and rule without any text of the reply: a key that it made up is such text.

    The contracts are flat, so that the name of one of their own fields says all of the place.
    """
    root = exc.at.split(".", 1)[0].split("[", 1)[0]
    place = root if root in model.model_fields else ""
    return f"{place} [{exc.rule}]".strip()


def _wrong_model(parsed: object) -> Unread:  # pragma: no cover - the tables above name no other class
    raise TypeError(type(parsed).__name__)

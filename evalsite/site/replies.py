# SPDX-License-Identifier: Apache-2.0
"""Recorded calls as they are shown: what was written, what it was read as, and the exact bytes."""

from collections.abc import Iterator
from functools import partial

from evalsite.campaign.trusted import TrialRecord
from evalsite.endpoint.content import reply_content
from evalsite.errors import InputError
from evalsite.judging.reading import Unread, read_answer, read_verdict
from evalsite.schema.corpus import EvidenceCase, EvidenceControl
from evalsite.schema.entries import Call
from evalsite.schema.outcome import Order, Result
from evalsite.schema.replies import (
    BinaryVerdict,
    CandidateAnswer,
    EvidenceVerdict,
    GradedVerdict,
    GradedVerdictV2,
    PairwiseVerdict,
    Verdict,
)
from evalsite.site import parts
from evalsite.site.casetext import evidence_items
from evalsite.site.escape import Html, raw_block, text
from evalsite.site.html import EMPTY, download, el, join
from evalsite.site.model import SiteFile
from evalsite.site.names import relative
from evalsite.site.views import RunView


def calls_of(record: TrialRecord) -> Iterator[tuple[str, Call, int]]:
    """Return the calls of a trial by role, with their index in the run."""
    if record.candidate_call is not None and record.candidate_seq is not None:
        yield "candidate", record.candidate_call, record.candidate_seq
    if record.judge_call is not None and record.judge_seq is not None:
        yield "judge", record.judge_call, record.judge_seq


def files_of(view: RunView, record: TrialRecord) -> Iterator[SiteFile]:
    """Return the exact bytes of a trial's requests, replies and record lines as files to download.

    Nothing is returned for a corpus whose texts must not be published (R112).
    """
    if not view.shows_text:
        return
    for role, call, seq in calls_of(record):
        for what, name in ((call.request, f"{role}-request"), (call.reply, f"{role}-reply")):
            if what is not None:
                yield _blob_file(view, seq, name, what)
    for seq in seqs_of(record):
        yield SiteFile(path=line_path(view, seq), read=partial(view.run.line, seq))


def _blob_file(view: RunView, seq: int, name: str, digest: str) -> SiteFile:
    return SiteFile(path=view.raw_path(seq, name), read=partial(view.run.blob, digest), sources=(digest,))


def seqs_of(record: TrialRecord) -> list[int]:
    """Return the indices of the events of a trial: its calls and its end."""
    return [seq for seq in (record.candidate_seq, record.judge_seq, record.ended_seq) if seq is not None]


def line_path(view: RunView, seq: int) -> str:
    """Return the address of one line of the record, byte for byte."""
    return f"{view.folder}/lines/{seq:06d}.json"


def answer_part(view: RunView, record: TrialRecord, page: str) -> Html:
    """Return the candidate's side of a trial."""
    call, seq = record.candidate_call, record.candidate_seq
    if call is None or seq is None:
        return _no_call("The candidate was not asked, or its call was given up.", record.result)
    raw = None if call.reply is None else view.run.blob(call.reply)
    read = read_answer(call, raw)
    if isinstance(read, CandidateAnswer):
        shown = join(
            (
                parts.para(_flag("action", read.action.value), _flag("refused", "yes" if read.refused else "no")),
                _written(read.response, "Candidate\u2019s answer, the response field of its reply"),
            )
        )
    else:
        shown = join((_unread(read, call), _content(call, raw)))
    return join((shown, _exact(view, call, seq, raw, page, is_open=isinstance(read, Unread))))


def verdict_part(view: RunView, record: TrialRecord, page: str) -> Html:
    """Return the judge's side of a trial."""
    call, seq = record.judge_call, record.judge_seq
    if call is None or seq is None:
        return _no_call("The judge was not asked.", record.result)
    raw = None if call.reply is None else view.run.blob(call.reply)
    evidence = _evidence_of(view, record.trial.case_id)
    read = read_verdict(view.plan.protocol, call, raw, evidence_count=len(evidence or ()))
    unread = isinstance(read, Unread)
    shown = (
        join((_unread(read, call), _content(call, raw)))
        if isinstance(read, Unread)
        else _verdict(read, evidence, record.trial.order)
    )
    return join((shown, _exact(view, call, seq, raw, page, is_open=unread)))


def _evidence_of(view: RunView, item_id: str) -> tuple[str, ...] | None:
    """Return the evidence that the judge was shown with a case or a control; null where the protocol has none."""
    item = view.cases.get(item_id) or view.controls.get(item_id)
    return item.evidence if isinstance(item, EvidenceCase | EvidenceControl) else None


def _verdict(verdict: Verdict, evidence: tuple[str, ...] | None, order: Order | None) -> Html:
    if isinstance(verdict, BinaryVerdict):
        return join(
            (
                parts.para(
                    _flag("required behaviour met", "yes" if verdict.required_behavior_met else "no"),
                    _flag("forbidden behaviour absent", "yes" if verdict.forbidden_behavior_absent else "no"),
                ),
                _written(verdict.explanation, "Judge\u2019s explanation, the explanation field of its reply"),
            )
        )
    if isinstance(verdict, PairwiseVerdict):
        said = "null: cannot judge" if verdict.winner is None else verdict.winner.value
        reason = _written(verdict.reason, "Judge\u2019s reason, the reason field of its reply")
        shown = f"{order.value[0]}, then {order.value[1]}" if order else "not told"
        return join((parts.para(_flag("answers shown", shown), _flag("winner, by place", said)), reason))
    score = "null: cannot judge" if verdict.score is None else str(verdict.score)
    pieces = [parts.para(_flag("score", score if isinstance(verdict, EvidenceVerdict) else _of_100(verdict)))]
    if isinstance(verdict, EvidenceVerdict):
        cited = ", ".join(f"[{index}]" for index in verdict.evidence) or "none"
        pieces = [parts.para(_flag("score", score), _flag("cites", cited))]
    pieces.append(_written(verdict.reason, "Judge\u2019s reason, the reason field of its reply"))
    if evidence is not None:
        cited_items = verdict.evidence if isinstance(verdict, EvidenceVerdict) else ()
        pieces.append(
            el(
                "details",
                el("summary", text("Evidence items, the cited ones marked")),
                evidence_items(evidence, cited_items),
                class_="es-details",
            )
        )
    return join(pieces)


def _of_100(verdict: GradedVerdict | GradedVerdictV2) -> str:
    return "null: cannot judge" if verdict.score is None else f"{verdict.score} of 100"


def _flag(name: str, value: str) -> Html:
    return el("span", el("span", text(name)), el("b", text(value)), class_="es-flag")


def _written(value: str, label: str) -> Html:
    return raw_block(value, label=label)


def _no_call(words: str, result: Result) -> Html:
    why = join((text(" "), parts.code(result.error_type))) if result.error_type else EMPTY
    return parts.para(text(words), why, css="es-quiet")


def _unread(unread: Unread, call: Call) -> Html:
    """Return why there is nothing to read, as recorded; the bytes follow below (R19, R42)."""
    facts = [
        ("Read as", parts.code(unread.status.value)),
        ("Kind", parts.code(unread.error_type)),
        ("Place and rule", parts.code(unread.detail) if unread.detail else parts.quiet("none")),
        ("HTTP status", parts.told(call.http_status)),
        ("Done reason", parts.told(call.done_reason)),
    ]
    return parts.fact_list(facts)


def _content(call: Call, raw: bytes | None) -> Html:
    """Return what was written although it could not be read as an answer or verdict, decoded."""
    if raw is None or call.reply_format == "text":
        return EMPTY  # the exact bytes below are the content
    try:
        content = reply_content(raw, call.reply_format)
    except InputError:
        return EMPTY
    return _written(content, f"What the {call.role.value} wrote, the content of its reply") if content else EMPTY


def _exact(view: RunView, call: Call, seq: int, raw: bytes | None, page: str, *, is_open: bool) -> Html:
    role = call.role.value
    pieces = []
    if raw is None:
        pieces.append(parts.para(parts.quiet("Not a single byte came back.")))
    else:
        href = relative(view.raw_path(seq, f"{role}-reply"), page)
        label = f"Body of the {role}\u2019s reply, as it came"
        pieces.append(parts.fold(f"Exact reply of the {role}", raw_block(raw, label=label, href=href), is_open=is_open))
    request = view.run.blob(call.request)
    href = relative(view.raw_path(seq, f"{role}-request"), page)
    pieces.append(
        parts.fold(
            f"Exact request to the {role}",
            raw_block(request, label=f"Request to the {role}, as it was sent", href=href),
        )
    )
    line = join(
        (
            text("Record line "),
            parts.code(str(seq)),
            text(" "),
            download(relative(line_path(view, seq), page), text("as JSON")),
        )
    )
    pieces.append(
        parts.para(
            line, text(f" · sent {call.started_at} · {call.wall_ms} ms · attempt {call.attempt}"), css="es-quiet"
        )
    )
    return join(pieces)

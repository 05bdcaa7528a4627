# SPDX-License-Identifier: Apache-2.0
"""Reading decision records in the shapes in which they are found."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.decisions.adr import load_decisions, parse_decision
from evalsite.decisions.record import DecisionRecord, FileState, StatusNorm, effective_status
from evalsite.decisions.source import MAX_RECORD_BYTES
from evalsite.errors import InputError

SECTIONS = "\n## Context and Problem Statement\n\nWhy.\n\n## Decision Outcome\n\nThat.\n"
BLOCK = """\
evalsite:
  format: evalsite/decision/v1
  kind: qualification
  outcome: {outcome}
  run: run-1
  profile: support-x
  expires: "2027-01-31"
"""


def read(text: str, name: str = "docs/decisions/0007-use-files.md") -> DecisionRecord:
    return parse_decision(text.encode(), name=name)


def codes(record: DecisionRecord) -> set[str]:
    return {finding.code for finding in record.findings}


def test_madr_4_with_all_parts() -> None:
    record = read(
        '---\nstatus: "accepted"\ndate: 2026-12-01\ndecision-makers: [lead, reviewer (second)]\n'
        "consulted:\n  - a\n  - b\n---\n"
        "# Use files\n\n## Context and Problem Statement\n\nWhy.\n\n## Decision Drivers\n\n* d\n\n"
        "## Considered Options\n\n* x\n* y\n\n## Decision Outcome\n\nChosen: x.\n\n### Consequences\n\n* Good\n\n"
        "### Confirmation\n\nA test.\n\n## Pros and Cons of the Options\n\n### x\n\n* Good\n\n"
        "## More Information\n\nm\n"
    )
    assert (record.number, record.id, record.title) == (7, "ADR-0007", "Use files")
    assert (record.status.norm, record.status.source, record.status.line) == (StatusNorm.ACCEPTED, "front matter", 2)
    assert record.status_label == "accepted in text, not signed"
    assert record.date == "2026-12-01"
    assert record.people == {"decision-makers": ("lead", "reviewer (second)"), "consulted": ("a", "b")}
    assert list(record.sections) == [
        "context",
        "drivers",
        "options",
        "outcome",
        "consequences",
        "confirmation",
        "pros and cons",
        "more",
    ]
    assert record.sections["outcome"] == "Chosen: x."
    assert record.sections["pros and cons"] == "### x\n\n* Good"
    assert (record.format, record.lang, record.findings) == ("madr-4", "en", ())


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("# T\n" + SECTIONS, id="no metadata"),
        pytest.param("---\nstatus:\n---\n# T\n" + SECTIONS, id="empty key"),
        pytest.param("---\nparent: x\n---\n# T\n" + SECTIONS, id="other keys"),
        pytest.param("# T\n" + SECTIONS + "\n```yaml\nstatus: accepted\n```\n", id="fenced example"),
        pytest.param("# T\n\n```\nStatus: accepted\n```\n" + SECTIONS, id="fenced before the sections"),
        pytest.param("# T\n\n~~~~\n```\n## Status\n\nAccepted\n~~~~\n" + SECTIONS, id="fence in a fence"),
        pytest.param("# T\n\n<!-- Status: accepted -->\n" + SECTIONS, id="comment"),
        pytest.param("# T\n\n<!--\n## Status\n\nAccepted\n-->\n" + SECTIONS, id="comment over lines"),
        pytest.param("# T\n\n> Status: accepted\n" + SECTIONS, id="block quote"),
        pytest.param("# T\n\n    Status: accepted\n" + SECTIONS, id="indented code"),
        pytest.param("# T\n\n## Status\n\n![s](accepted.svg)\n" + SECTIONS, id="badge"),
        pytest.param("# T\n\n## Status\n" + SECTIONS, id="empty section"),
        pytest.param("# T\n" + SECTIONS + "\nStatus: accepted\n", id="in the body"),
    ],
)
def test_absent_status_is_unstated_and_said_so(text: str) -> None:
    record = read(text)
    assert record.status.norm is StatusNorm.UNSTATED
    assert "status-unstated" in codes(record)


@pytest.mark.parametrize(
    "head",
    [
        pytest.param("* Status: Accepted\n* Date: 2024-05-01\n", id="MADR 2 bullets"),
        pytest.param("- Estado: Aceptado\n- Fecha: 2024-05-01\n", id="Spanish"),
        pytest.param("- Statut\u00a0: Accepté\n- Date\u00a0: 2024-05-01\n", id="French, no-break space"),
        pytest.param("状态\uff1a已接受\n日期\uff1a2024年5月1日\n", id="Chinese, full-width colon"),
        pytest.param("**Status**: Accepted\n**Date**: 2024-05-01\n", id="bold keys"),
        pytest.param("**Status:** Accepted\n**Date:** 1.5.2024\n", id="bold with colon"),
        pytest.param("| Date | Status |\n| ---- | --- |\n| 2024-05-01 | Accepted |\n", id="table by columns"),
        pytest.param("| Status | Accepted |\n|---|---|\n| Date | 1 May 2024 |\n", id="table by rows"),
        pytest.param("Date: 2024-05-01\n\n## Status\n\nAccepted\n", id="Nygard"),
    ],
)
def test_metadata_outside_front_matter(head: str) -> None:
    record = read("# 7. Use files\n\n" + head + SECTIONS)
    assert (record.status.norm, record.date) == (StatusNorm.ACCEPTED, "2024-05-01")
    assert record.findings == ()


def test_byte_order_mark_crlf_comment_and_braces() -> None:
    text = (
        "\ufeff---\n# remove what you do not need\nstatus: { accepted }\ndate: { 2024-05-02 }\n---\n\n# T\n" + SECTIONS
    )
    record = read(text.replace("\n", "\r\n"))
    assert (record.status.norm, record.date, record.title) == (StatusNorm.ACCEPTED, "2024-05-02", "T")
    assert "yaml-placeholder" in codes(record)


def test_template_placeholder_is_no_status() -> None:
    record = read('---\nstatus: "{proposed | rejected | accepted | superseded by ADR-0123}"\n---\n# T\n' + SECTIONS)
    assert record.status.norm is StatusNorm.UNKNOWN


def test_front_matter_without_its_opening_line() -> None:
    record = read("status: rejected\ndate: 2024-05-02\n---\n# T\n" + SECTIONS)
    assert (record.status.norm, record.title) == (StatusNorm.REJECTED, "T")
    assert codes(record) == {"front-matter-unopened"}


def test_key_that_stands_twice_is_contradictory() -> None:
    record = read("---\nstatus: proposed\nstatus: accepted\n---\n# T\n" + SECTIONS)
    assert record.status.norm is StatusNorm.CONTRADICTORY
    assert {"front-matter-duplicate", "status-conflict"} <= codes(record)


def test_front_matter_and_text_that_disagree_are_contradictory() -> None:
    record = read("---\nstatus: accepted\n---\n# T\n\n## Status\n\nRejected\n" + SECTIONS)
    assert record.status.norm is StatusNorm.CONTRADICTORY
    assert record.status_label == "contradictory"


def test_acceptance_with_a_named_superseder_is_contradictory() -> None:
    record = read("---\nstatus: accepted\nsuperseded-by: ADR-0009\n---\n# T\n" + SECTIONS)
    assert record.status.norm is StatusNorm.CONTRADICTORY
    assert [reference.number for reference in record.superseded_by] == [9]
    assert read("---\nstatus: accepted\nsuperseded-by: n/a\n---\n# T\n" + SECTIONS).status.norm is StatusNorm.ACCEPTED


@pytest.mark.parametrize(
    ("name", "number", "record_id", "title"),
    [
        ("0007-use-files.md", 7, "ADR-0007", "use files"),
        ("7-use-files.md", 7, "ADR-0007", "use files"),
        ("ADR-012_use_files.md", 12, "ADR-0012", "use files"),
        ("AMT-0006-x.md", 6, "AMT-0006", "x"),
        ("adr-0019-synthetic-only.md", 19, "ADR-0019", "synthetic only"),
        ("20200926-use-the-slug.md", None, "20200926-use-the-slug", "use the slug"),
        ("2022-04-13_018-single-state.md", 18, "ADR-0018", "single state"),
        ("0024-use-#-é.md", 24, "ADR-0024", "use # é"),
        ("use-2-keys.md", None, "use-2-keys", "use 2 keys"),
    ],
)
def test_number_id_and_fallback_title_of_a_file_name(name: str, number: int | None, record_id: str, title: str) -> None:
    record = read(SECTIONS, name=f"docs/decisions/{name}")
    assert (record.number, record.id, record.title, record.title_source) == (number, record_id, title, "file name")
    assert "title-missing" in codes(record)


def test_title_sources() -> None:
    assert read("# ADR-0007: Use files\n" + SECTIONS).title == "Use files"
    assert read("Use files\n=========\n" + SECTIONS).title == "Use files"
    assert read("---\ntitle: |\n  7. Use files\n---\n" + SECTIONS + "\n# Decision\n").title == "Use files"
    fuller = read('---\ntitle: "ADR-0007: Use files"\n---\n# ADR-0007: Use files (and a tree)\n' + SECTIONS)
    assert (fuller.title, fuller.title_source) == ("Use files (and a tree)", "heading")
    other = read("---\ntitle: Use files\n---\n# Something else\n" + SECTIONS)
    assert (other.title, other.title_source) == ("Use files", "front matter")


def test_number_that_differs_from_the_file_name_is_a_finding() -> None:
    assert "number-mismatch" in codes(read("# 3. Use files\n" + SECTIONS))


def test_supersession_is_read_from_links_numbers_and_prose() -> None:
    record = read("# T\n\n## Status\n\nSuperseded by [ADR 23](/adr/23) and [ADR 26](/adr/26)\n" + SECTIONS)
    assert [reference.number for reference in record.superseded_by] == [23, 26]
    record = read('---\nstatus: "superseded by ADR-0057"\n---\n# T\n' + SECTIONS)
    assert [reference.number for reference in record.superseded_by] == [57]
    record = read("# T\n\n**Status**: Accepted (supersedes ADR-024, ADR-025)\n" + SECTIONS)
    assert [reference.number for reference in record.supersedes] == [24, 25]
    assert record.superseded_by == ()
    record = read("# T\n\n## Status\n\nProposed\n\n## Context\n\nThis ADR in part supersedes [0003](0003-x.md).\n")
    assert [(reference.number, reference.partial) for reference in record.supersedes] == [(3, True)]
    record = read("# T\n\n- Status: superseded by [x](20201016-use-the-slug.md)\n" + SECTIONS)
    assert [reference.slug for reference in record.superseded_by] == ["20201016-use-the-slug"]


def test_link_in_a_rejection_is_no_superseder() -> None:
    assert read("# T\n\n## Status\n\nRejected (see [019](019-x.md))\n" + SECTIONS).superseded_by == ()


def test_ambiguous_date_has_no_value() -> None:
    record = read("# T\n\nDate: 02/09/2020\n" + SECTIONS)
    assert (record.date, [date.raw for date in record.dates]) == (None, ["02/09/2020"])
    assert "date-ambiguous" in codes(record)
    assert read("# T\n\nDate: 25/09/2020\n" + SECTIONS).date == "2020-09-25"
    remarked = read("# T\n\nDate: 2026-05-27 (retroactive)\n" + SECTIONS).dates[0]
    assert (remarked.value, remarked.remark) == ("2026-05-27", "retroactive")


def test_restructured_text() -> None:
    text = (
        "8. Signals\n==========\n\nStatus\n------\n\n**Accepted**\n\nContext\n-------\n\nc\n\nDecision\n--------\n\nd\n"
    )
    record = read(text, name="docs/0008-signals.rst")
    assert (record.number, record.title, record.status.norm) == (8, "Signals", StatusNorm.ACCEPTED)
    assert (record.format, record.sections["outcome"]) == ("rst", "d")


def test_provisional_window_ends() -> None:
    record = read("# T\n\n## Status\n\n**PROVISIONAL** (2026-01-03 to 2026-01-17)\n" + SECTIONS)
    assert record.status.norm is StatusNorm.CONDITIONAL
    assert effective_status(record, as_of="2026-01-17") is StatusNorm.CONDITIONAL
    assert effective_status(record, as_of="2026-01-18") is StatusNorm.EXPIRED


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2024-05-01", "2024-05-01"),
        ("2024年5月1日", "2024-05-01"),
        ("2024년 5월 1일", "2024-05-01"),
        ("1.5.2024", "2024-05-01"),
        ("01-May-2024", "2024-05-01"),
        ("1 May 2024", "2024-05-01"),
        ("May 1, 2024", "2024-05-01"),
        ("2024 May 1", "2024-05-01"),
        ("05/05/2024", "2024-05-05"),
        ("05/25/2024", "2024-05-25"),
        ("2024-13-01", None),
        ("2024-02-30", None),
        ("1 Foo 2024", None),
        ("soon", None),
    ],
)
def test_forms_of_dates(text: str, value: str | None) -> None:
    assert read(f"# T\n\n- Date: {text}\n" + SECTIONS).date == value


def test_languages() -> None:
    text = "# T\n\n## Contexto e definição do problema\n\nc\n\n## Resultado da decisão\n\nd\n"
    record = read(text)
    assert (record.lang, record.sections["outcome"]) == ("pt", "d")
    assert read(f"---\nlang: fr\n---\n{text}").lang == "fr"


def test_number_of_front_matter_or_title_without_one_in_the_file_name() -> None:
    assert read("---\nslug: 18\n---\n# T\n" + SECTIONS, name="a/single-state.md").number == 18
    assert read("# 18. T\n" + SECTIONS, name="a/single-state.md").number == 18


def test_numbered_record_about_templates_is_a_record() -> None:
    assert read("# T\n" + SECTIONS, name="a/0004-use-a-template.md").state is FileState.RECORD
    assert read("# T\n" + SECTIONS, name="a/0000-template.md").state is FileState.TEMPLATE


def test_front_matter_and_comments_that_are_not_closed() -> None:
    record = read("---\nstatus: accepted\n\n# T\n" + SECTIONS)
    assert record.status.norm is StatusNorm.UNSTATED
    assert "front-matter-unclosed" in codes(record)
    record = read("# T\n\n<!-- open\n\nStatus: accepted\n" + SECTIONS)
    assert record.status.norm is StatusNorm.UNSTATED
    assert "comment-unclosed" in codes(record)
    shown = read("# T\n\nStatus: accepted `<!--` shown\n\n## Status\n\nRejected\n" + SECTIONS)
    assert shown.status.norm is StatusNorm.CONTRADICTORY  # a comment opened in code swallows nothing


def test_front_matter_in_its_wild_forms() -> None:
    record = read(
        '---\nstatus: \'accepted\' # by all\ntitle: "a: \\"b\\""\nconsulted: ~\ninformed:\n  x, y\n: odd\n---\n'
        + SECTIONS
    )
    assert (record.status.norm, record.title) == (StatusNorm.ACCEPTED, 'a: "b"')
    assert record.people == {"informed": ("x", "y")}
    assert codes(record) == {"front-matter-line"}


def test_second_qualification_block_is_refused() -> None:
    block = BLOCK.format(outcome="rejected")
    record = read("---\nstatus: accepted\n" + block + "x: 1\n" + block + "---\n# T\n" + SECTIONS)
    assert record.qualification is None
    assert {"qualification-block", "front-matter-duplicate"} == codes(record)


@pytest.mark.parametrize("piece", ["<!--x-->", "`<!--", "| a ", "[x](y) ", "~~a", "is ", "supersedes ", "[", "{"])
@pytest.mark.parametrize("head", ["", "---\nstatus: ", "# T\n\n## Status\n\n", "# T\n\n* Status: "])
def test_long_hostile_text_is_read_in_linear_time(piece: str, head: str) -> None:
    started = time.process_time()
    read(head + piece * (400_000 // len(piece)))
    assert time.process_time() - started < 3  # what is quadratic needs more


def test_qualification_block_and_its_expiry() -> None:
    text = "---\nstatus: accepted\n" + BLOCK.format(outcome="approved") + "---\n# T\n" + SECTIONS
    record = read(text)
    assert record.qualification is not None
    assert record.qualification.run == "run-1"
    assert effective_status(record, as_of="2027-01-31") is StatusNorm.ACCEPTED
    assert effective_status(record, as_of="2027-02-01") is StatusNorm.EXPIRED
    refused = read(text.replace("approved", "rejected"))
    assert effective_status(refused, as_of="2030-01-01") is StatusNorm.ACCEPTED


def test_qualification_with_conditions_and_open_items() -> None:
    more = (
        '  review_by: "2027-01-01"\n  reservations:\n    - {id: R1, text: t, state: open}\n'
        "    - {id: R2, text: t, state: closed}\n"
        '  conditions:\n    - {id: C1, text: t, owner: lead, due: "2026-12-31", state: open}\n'
    )
    front = "---\nstatus: accepted\n" + BLOCK.format(outcome="approved-with-conditions") + more
    block = read(front + "---\n# T\n" + SECTIONS).qualification
    assert block is not None
    assert block.open_items() == ("R1", "C1")
    for old, new in (("id: C1", "id: R1"), ("2027-01-01", "2027-02-01"), ("2026-12-31", "2026-12-32")):
        assert read(front.replace(old, new) + "---\n# T\n" + SECTIONS).qualification is None


@pytest.mark.parametrize(
    ("old", "new", "line"),
    [
        pytest.param("run-1", "RUN PLACEHOLDER", 7, id="no run id"),
        pytest.param("outcome: rejected", "outcome: maybe", 6, id="unknown outcome"),
        pytest.param("outcome: rejected", "outcome: approved-with-conditions", 3, id="no conditions"),
        pytest.param('"2027-01-31"', "2027-01-31", 9, id="unquoted day"),
        pytest.param('"2027-01-31"', '"2027-02-31"', 9, id="no such day"),
        pytest.param("  kind: qualification\n", "", 3, id="no kind"),
        pytest.param("  kind:", "  kind: x\n  kind:", 6, id="duplicate key"),
        pytest.param("  kind:", "  more: 1\n  kind:", 5, id="unknown key"),
    ],
)
def test_broken_qualification_block_is_a_finding_with_its_line(old: str, new: str, line: int) -> None:
    text = "---\nstatus: accepted\n" + BLOCK.format(outcome="rejected") + "---\n# T\n" + SECTIONS
    assert read(text).findings == ()
    record = read(text.replace(old, new))
    assert record.qualification is None
    assert [finding.code for finding in record.findings] == ["qualification-block"]
    assert record.findings[0].at.split()[0] == f"docs/decisions/0007-use-files.md:{line}"


def test_file_that_is_no_record_is_listed_as_such() -> None:
    record = read("Just a note.")
    assert record.state is FileState.NOT_A_RECORD
    assert "not-a-decision-record" in codes(record)


@pytest.mark.parametrize(
    ("data", "match"),
    [
        (b"\xff\xfe#\x00", "UTF-16"),
        (b"# T\n\xff", "0xff"),
        (b"x" * (MAX_RECORD_BYTES + 1), "at most"),
    ],
)
def test_bytes_that_are_no_text_are_refused(data: bytes, match: str) -> None:
    with pytest.raises(InputError, match=match):
        parse_decision(data, name="x.md")


PIECES = st.sampled_from(
    [
        *("---", "---\n", "```", "~~~", "<!--", "-->", "# T", "## Status", "## Context", "status:", "date: 2024-13-99"),
        *("evalsite:", "  run: x", "Accepted", "Superseded by [x](y.md)", "| a | b |", "|---|", "\t", "\x00", "{", "}"),
        *("> ", "- ", "===", "[", "](", "]", "~~", "\ufeff", "title: '", 'title: "', "|", ">", "\u202e", "#", "0007."),
    ]
)


@given(st.lists(st.one_of(PIECES, st.text(max_size=8)), max_size=30), st.sampled_from(["\n", "", "\r\n", " "]))
def test_whatever_a_text_says_reading_it_does_not_raise(pieces: list[str], joint: str) -> None:
    data = joint.join(pieces).encode("utf-8", "replace")
    for name in ("a/0007-x.md", "x.rst"):
        record = parse_decision(data, name=name)
        assert record.title or record.path


def test_folder_lists_every_file(tmp_path: Path) -> None:
    (tmp_path / "0001-a.md").write_text("# A\n\nStatus: accepted\n" + SECTIONS)
    (tmp_path / "0002-b.md").write_bytes(b"\xff\xfe")
    (tmp_path / "0003-c.md").symlink_to(tmp_path / "0001-a.md")
    (tmp_path / "0004-note.md").write_text("Just a note.")
    (tmp_path / "0005-e.md").mkdir()
    (tmp_path / "index.md").write_text("# Decisions\n")
    (tmp_path / "template.md").write_text("# Title\n" + SECTIONS)
    (tmp_path / "picture.png").write_bytes(b"")
    assert [(record.slug, record.state.value) for record in load_decisions(tmp_path)] == [
        ("0001-a", "record"),
        ("0002-b", "unreadable"),
        ("0003-c", "unreadable"),
        ("0004-note", "not a decision record"),
        ("0005-e", "unreadable"),
        ("index", "index"),
        ("template", "template"),
    ]
    assert load_decisions(tmp_path)[2].findings[0].at == "docs/decisions/0003-c.md"


def test_folder_that_is_absent_is_empty_and_a_link_is_refused(tmp_path: Path) -> None:
    assert load_decisions(tmp_path / "none") == []
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(InputError, match="expected a folder"):
        load_decisions(tmp_path / "link")

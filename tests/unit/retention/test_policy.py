# SPDX-License-Identifier: Apache-2.0
"""Retention policies: reading, the calendar, access by class, what a policy leaves open."""

from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evalsite.errors import InputError
from evalsite.retention.policy import (
    Access,
    Kind,
    LoadedPolicy,
    Rule,
    Trigger,
    add_duration,
    allowed_editions,
    check_declared,
    check_policy,
    due_date,
    is_due,
    load_policy,
    parse_policy,
)
from evalsite.schema.base import Severity
from evalsite.schema.corpus import DataClass

NAME = "corpora/support/policy.yaml"
RULE = """\
  - id: {id}
    applies_to: [{kinds}]
    keep: {keep}
{extra}    trigger: {trigger}
    basis: {{kind: policy, cite: "evaluation handbook, section 3"}}
    action: delete
"""


def rule_text(
    rule_id: str = "r1",
    *,
    kinds: str = "payload",
    keep: str = "P6M",
    trigger: str = "run.finished",
    extra: str = "",
) -> str:
    extra = "".join(f"    {line}\n" for line in extra.splitlines())
    return RULE.format(id=rule_id, kinds=kinds, keep=keep, trigger=trigger, extra=extra)


def policy_text(*rules: str, data_class: str = "synthetic", access: str = "public") -> str:
    head = (
        f"format: evalsite/policy/v1\ndata_class: {data_class}\naccess: {access}\n"
        'owner: evaluation lead\neffective: "2026-12-01"\n'
    )
    return head + ("rules:\n" + "".join(rules) if rules else "rules: []\n")


def parsed(*rules: str, data_class: str = "synthetic", access: str = "public") -> LoadedPolicy:
    return parse_policy(policy_text(*rules, data_class=data_class, access=access).encode(), name=NAME)


def a_rule(**changes: object) -> Rule:
    value = {
        "id": "r1",
        "applies_to": ["payload"],
        "keep": "P6M",
        "trigger": "run.finished",
        "basis": {"kind": "legal", "cite": "as the owner cites it"},
        "action": "delete",
    }
    return Rule.from_value(value | changes)


def test_policy_is_read_with_the_line_of_every_rule() -> None:
    loaded = parsed(rule_text("r1"), rule_text("r2", kinds="page, trace", keep="forever"))
    assert loaded.rule_places == (f"{NAME}:7", f"{NAME}:13")
    assert [rule.id for rule in loaded.policy.rules_for(Kind.TRACE)] == ["r2"]
    assert loaded.digest.startswith("sha256:")


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param(policy_text(rule_text(keep="6 months")), f"{NAME}:9", id="no duration"),
        pytest.param(policy_text(rule_text(keep="P0.5Y")), f"{NAME}:9", id="fraction"),
        pytest.param(policy_text(rule_text(keep="PT5H")), f"{NAME}:9", id="hours"),
        pytest.param(policy_text(rule_text(extra="floor: P1Y\nceiling: P6M")), f"{NAME}:7", id="floor above ceiling"),
        pytest.param(policy_text(rule_text(kinds="payload, payload")), f"{NAME}:7", id="kind twice"),
        pytest.param(policy_text(rule_text(kinds="payloads")), f"{NAME}:8", id="unknown kind"),
        pytest.param(policy_text(rule_text(trigger="fixed-date")), f"{NAME}:7", id="fixed date without a day"),
        pytest.param(policy_text(rule_text(extra='on: "2027-01-01"')), f"{NAME}:7", id="day without fixed date"),
        pytest.param(policy_text(rule_text("r1"), rule_text("R1")), f"{NAME}:1", id="id twice"),
        pytest.param(policy_text() + "note: extra\n", f"{NAME}:7", id="unknown field"),
        pytest.param(policy_text().replace("2026-12-01", "2026-02-30"), f"{NAME}:5", id="no such day"),
        pytest.param(policy_text().replace('"2026-12-01"', "2026-12-01"), f"{NAME}:5", id="unquoted day"),
        pytest.param(policy_text(data_class="secret"), f"{NAME}:2", id="unknown class"),
    ],
)
def test_invalid_policy_names_file_and_line(text: str, place: str) -> None:
    with pytest.raises(InputError) as caught:
        parse_policy(text.encode(), name=NAME)
    assert caught.value.at.split()[0] == place
    assert caught.value.exit_code == 2


def test_floor_that_exceeds_the_ceiling_in_some_months_only_is_refused() -> None:
    with pytest.raises(InputError, match="the floor P1M can exceed the ceiling P30D"):
        a_rule(floor="P1M", ceiling="P30D")
    assert a_rule(floor="P1M", ceiling="P31D").ceiling == "P31D"


def test_load_policy_names_corpus_and_file_only(tmp_path: Path) -> None:
    path = tmp_path / "support" / "policy.yaml"
    path.parent.mkdir()
    with pytest.raises(InputError, match="found none") as caught:
        load_policy(path)
    assert caught.value.at == NAME
    path.write_text(policy_text(rule_text()))
    assert load_policy(path).name == NAME


def test_policy_behind_a_symbolic_link_is_refused(tmp_path: Path) -> None:
    real = tmp_path / "real.yaml"
    real.write_text(policy_text())
    link = tmp_path / "policy.yaml"
    link.symlink_to(real)
    with pytest.raises(InputError, match="regular file"):
        load_policy(link, name=NAME)


@pytest.mark.parametrize(
    ("day", "duration", "expected"),
    [
        ("2026-01-31", "P1M", "2026-02-28"),
        ("2028-01-31", "P1M", "2028-02-29"),
        ("2028-02-29", "P1Y", "2029-02-28"),
        ("2026-08-31", "P6M", "2027-02-28"),
        ("2026-12-01", "P10Y", "2036-12-01"),
        ("2026-12-31", "P1D", "2027-01-01"),
        ("2026-12-01", "P2W", "2026-12-15"),
        ("2026-12-01", "P1Y2M3D", "2028-02-04"),
        ("2026-12-01", "P0D", "2026-12-01"),
        ("9999-12-01", "P1Y", "9999-12-31"),
        ("9999-12-30", "P9D", "9999-12-31"),
    ],
)
def test_calendar(day: str, duration: str, expected: str) -> None:
    assert add_duration(day, duration) == expected


@given(st.dates(min_value=date(1970, 1, 1), max_value=date(2900, 1, 1)), st.integers(0, 240))
def test_months_never_leave_the_month_they_lead_to(day: date, months: int) -> None:
    result = date.fromisoformat(add_duration(day.isoformat(), f"P{months}M"))
    total = day.year * 12 + day.month - 1 + months
    assert (result.year, result.month) == (total // 12, total % 12 + 1)
    assert result.day <= day.day


def test_due_date_of_a_trigger_that_has_not_happened_is_unknown() -> None:
    assert due_date(a_rule(), None) is None
    assert due_date(a_rule(trigger="fixed-date", on="2027-01-01"), None) == "2027-07-01"


def test_floor_wins_over_ceiling_wins_over_keep() -> None:
    started = "2026-01-01"
    assert due_date(a_rule(), started) == "2026-07-01"
    assert due_date(a_rule(ceiling="P3M"), started) == "2026-04-01"
    assert due_date(a_rule(floor="P1Y"), started) == "2027-01-01"
    assert due_date(a_rule(keep="P1D", floor="P2M", ceiling="P3M"), started) == "2026-03-01"
    assert due_date(a_rule(keep="forever"), started) is None
    assert due_date(a_rule(keep="forever", ceiling="P1Y"), started) == "2027-01-01"
    assert due_date(a_rule(keep="forever", floor="P1Y"), started) is None


def test_due_day_must_have_ended() -> None:
    assert not is_due("2026-07-01", as_of="2026-07-01")
    assert is_due("2026-07-01", as_of="2026-07-02")
    assert not is_due(None, as_of="9999-12-31")


@pytest.mark.parametrize(
    ("data_class", "redacted", "expected"),
    [
        (DataClass.SYNTHETIC, False, ("public", "internal", "restricted")),
        (DataClass.INTERNAL, False, ("internal", "restricted")),
        (DataClass.PERSONAL, False, ("restricted",)),
        (DataClass.PERSONAL, True, ("internal", "restricted")),
        (DataClass.RESTRICTED, False, ("restricted",)),
        (DataClass.RESTRICTED, True, ("restricted",)),
    ],
)
def test_access_matrix(data_class: DataClass, redacted: bool, expected: tuple[str, ...]) -> None:  # noqa: FBT001 - a table row
    assert tuple(edition.value for edition in allowed_editions(data_class, redacted=redacted)) == expected


def test_only_synthetic_text_may_be_public() -> None:
    public = [
        kind for kind in DataClass for told in (False, True) if Access.PUBLIC in allowed_editions(kind, redacted=told)
    ]
    assert set(public) == {DataClass.SYNTHETIC}


def test_check_tells_kinds_without_a_rule() -> None:
    found = check_policy(parsed(rule_text(kinds="payload, judge, trace, attachment, record, decision, signature")))
    assert [(finding.code, finding.message) for finding in found] == [
        ("no-rule", "no rule for page: it is kept until there is one")
    ]


def test_check_tells_access_wider_than_the_class() -> None:
    found = check_policy(parsed(data_class="personal", access="internal"))
    wide = [finding for finding in found if finding.code == "access-too-wide"]
    assert [finding.severity for finding in wide] == [Severity.ERROR]
    assert not [
        f for f in check_policy(parsed(data_class="personal", access="restricted")) if f.code == "access-too-wide"
    ]


def test_check_tells_overlapping_rules_and_another_class() -> None:
    found = check_policy(parsed(rule_text("a"), rule_text("b")), corpus_class=DataClass.PERSONAL)
    codes = {finding.code for finding in found}
    assert {"rules-overlap", "class-mismatch"} <= codes
    apart = parsed(rule_text("a"), rule_text("b", trigger="subject.request"))
    assert "rules-overlap" not in {finding.code for finding in check_policy(apart)}


def test_real_data_without_a_policy_is_an_error() -> None:
    assert [f.severity for f in check_declared(DataClass.PERSONAL, policy=None, corpus="x")] == [Severity.ERROR]
    assert [f.severity for f in check_declared(DataClass.SYNTHETIC, policy=None, corpus="x")] == [Severity.NOTE]
    assert check_declared(DataClass.PERSONAL, policy=parsed(), corpus="x") == []


def test_every_trigger_of_the_vocabulary_is_known() -> None:
    assert {trigger.value for trigger in Trigger} == {
        "run.finished",
        "decision.effective",
        "system.withdrawn",
        "subject.request",
        "fixed-date",
    }

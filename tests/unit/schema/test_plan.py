# SPDX-License-Identifier: Apache-2.0
"""Campaigns and plans: what is asked, and the key of every planned observation."""

from itertools import product
from typing import Any

import pytest
from support.plans import campaign_value, make_plan

from evalsite.errors import InputError
from evalsite.schema.outcome import Dimension, Mode, Polarity, TrialKind
from evalsite.schema.plan import CampaignSpec, FixtureReply, OllamaEndpointSpec, Sampling

FIXTURE = {"endpoint": {"kind": "fixture"}}
OLLAMA = {"endpoint": {"kind": "ollama", "host": "http://127.0.0.1:11434", "model_name": "smollm2:135m"}}
REPLAY = {"endpoint": {"kind": "replay", "run": "earlier"}}


@pytest.mark.parametrize(
    ("candidate", "judge", "mode"),
    [
        (FIXTURE, FIXTURE, Mode.FIXTURE),
        (OLLAMA, OLLAMA, Mode.LIVE),
        (REPLAY, OLLAMA, Mode.REPLAY),
        (OLLAMA, REPLAY, Mode.REPLAY),
        (REPLAY, REPLAY, Mode.REPLAY),
        (None, FIXTURE, Mode.FIXTURE),
        (None, OLLAMA, Mode.LIVE),
        (None, REPLAY, Mode.REPLAY),
    ],
)
def test_the_mode_follows_from_the_endpoints(candidate: Any, judge: Any, mode: Mode) -> None:
    assert CampaignSpec.from_value(campaign_value(candidate=candidate, judge=judge)).mode is mode


@pytest.mark.parametrize(("one", "other"), [(FIXTURE, OLLAMA), (FIXTURE, REPLAY)])
def test_a_fixture_never_mixes_with_anything_else(one: Any, other: Any) -> None:
    for candidate, judge in ((one, other), (other, one)):
        with pytest.raises(InputError, match="either fixture or not"):
            CampaignSpec.from_value(campaign_value(candidate=candidate, judge=judge))


def test_all_cases_and_no_cases_are_two_things() -> None:
    assert CampaignSpec.from_value(campaign_value(cases=None)).cases is None
    assert CampaignSpec.from_value(campaign_value(cases=[])).cases == ()


@pytest.mark.parametrize("repetitions", [0, -1, 101, True, "2", None])
def test_repetitions_are_counted_from_1_to_100(repetitions: Any) -> None:
    with pytest.raises(InputError) as caught:
        CampaignSpec.from_value(campaign_value(repetitions=repetitions))
    assert caught.value.at == "repetitions"


def test_sampling_defaults_are_those_of_the_protocol() -> None:
    sampling = Sampling()
    assert (sampling.temperature, sampling.max_output_tokens, sampling.think) == ("0", 800, False)
    assert OllamaEndpointSpec.from_value(OLLAMA["endpoint"]).timeout_s == 120


@pytest.mark.parametrize("number", ["0", "0.0", "1", "-1", "0.95", "123456789.123456789"])
def test_decimals_are_text(number: str) -> None:
    assert Sampling.from_value({"temperature": number}).temperature == number


@pytest.mark.parametrize("number", ["", "00", "01", ".5", "1.", "+1", "1e3", "NaN", "0.1\n", "1234567890", 0, None])
def test_nothing_else_is_a_decimal(number: Any) -> None:
    with pytest.raises(InputError) as caught:
        Sampling.from_value({"temperature": number})
    assert caught.value.at == "temperature"


@pytest.mark.parametrize(
    "host",
    [
        "",
        "127.0.0.1",
        "ftp://x",
        "http://user:word@host",
        "http://host/path",
        "http://ho st",
        "http://host\n",
        "file:///x",
    ],
)
def test_an_address_holds_no_user_path_or_blank(host: str) -> None:
    with pytest.raises(InputError):
        OllamaEndpointSpec.from_value({**OLLAMA["endpoint"], "host": host})


@pytest.mark.parametrize("host", ["http://127.0.0.1:11434", "http://[::1]:11434/", "https://models.example"])
def test_addresses(host: str) -> None:
    assert OllamaEndpointSpec.from_value({**OLLAMA["endpoint"], "host": host}).host == host


def test_host_and_model_name_are_always_stated() -> None:
    for name in ("host", "model_name"):
        with pytest.raises(InputError, match="Field required"):
            OllamaEndpointSpec.from_value({key: item for key, item in OLLAMA["endpoint"].items() if key != name})


@pytest.mark.parametrize("reply", [{}, {"text": "x", "fault": "timeout"}])
def test_a_fixture_reply_is_a_text_or_a_fault(reply: dict[str, str]) -> None:
    with pytest.raises(InputError, match="exactly one of text and fault"):
        FixtureReply.from_value({"case_id": "A", "role": "judge", **reply})
    assert FixtureReply.from_value({"case_id": "A", "role": "judge", "text": ""}).text == ""


def test_case_trials_are_every_case_in_every_repetition_once() -> None:
    trials = make_plan().case_trials()
    assert [(trial.repetition, trial.case_id) for trial in trials] == [(1, "A"), (1, "B"), (2, "A"), (2, "B")]
    assert {trial.kind for trial in trials} == {TrialKind.CASE}
    assert {(trial.polarity, trial.dimension) for trial in trials} == {(None, None)}


def test_graded_cases_are_asked_once_per_dimension() -> None:
    trials = make_plan(protocol="graded", candidate=None).case_trials()
    keys = [(trial.repetition, trial.case_id, trial.dimension) for trial in trials]
    assert keys == list(product((1, 2), ("A", "B"), Dimension))
    assert len(set(trials)) == len(trials) == 8


def test_a_plan_without_cases_has_no_trials() -> None:
    plan = make_plan(cases=[], mode="live")
    assert plan.case_trials() == plan.control_trials() == ()


@pytest.mark.parametrize("mode", ["live", "replay"])
def test_every_case_of_a_binary_campaign_gives_two_controls(mode: str) -> None:
    trials = make_plan(mode=mode).control_trials()
    assert [(trial.case_id, trial.polarity) for trial in trials] == list(product(("A", "B"), Polarity))
    assert {(trial.kind, trial.repetition, trial.dimension) for trial in trials} == {(TrialKind.CONTROL, None, None)}


@pytest.mark.parametrize(
    ("mode", "protocol"), [("fixture", "binary"), ("live", "evidence"), ("live", "graded"), ("fixture", "graded")]
)
def test_no_controls_for_fixtures_and_for_other_protocols(mode: str, protocol: str) -> None:
    assert make_plan(mode=mode, protocol=protocol).control_trials() == ()


def test_a_plan_survives_its_bytes() -> None:
    plan = make_plan()
    data = plan.to_bytes()
    assert type(plan).parse(data, max_bytes=len(data)) == plan
    assert type(plan).parse(data, max_bytes=len(data)).to_bytes() == data


def test_labels_of_trials_are_readable() -> None:
    plan = make_plan(mode="live")
    assert [trial.label() for trial in plan.case_trials()][-1] == "B #2"
    assert [trial.label() for trial in plan.control_trials()][-1] == "B negative"
    assert make_plan(protocol="graded").case_trials()[0].label() == "A faithfulness #1"


@pytest.mark.parametrize(
    "host", ["http://127.0.0.1:99999", "http://[::1", "http://::1", "http://a:1:2", "http://a:", "http://[1.2.3:4:5]"]
)
def test_what_is_no_address_is_refused_before_anything_is_asked(host: str) -> None:
    with pytest.raises(InputError):
        OllamaEndpointSpec.from_value({"kind": "ollama", "host": host, "model_name": "stub"})


@pytest.mark.parametrize("host", ["http://127.0.0.1:11434", "https://ollama.example/", "http://[::1]:11434"])
def test_an_address_is_taken(host: str) -> None:
    assert OllamaEndpointSpec.from_value({"kind": "ollama", "host": host, "model_name": "stub"}).host == host

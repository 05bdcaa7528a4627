# SPDX-License-Identifier: Apache-2.0
"""A campaign file fits its corpus, or is refused with the place of what does not fit."""

import pytest
from support import corpora, plans

from evalsite.canonical.digest import digest_bytes
from evalsite.corpus.load import campaign_files, load_campaign
from evalsite.errors import InputError
from evalsite.schema.outcome import Mode

FIXTURE = {"endpoint": {"kind": "fixture"}}
OLLAMA = {"endpoint": {"kind": "ollama", "host": "http://127.0.0.1:11434", "model_name": "m:1"}}


def campaign(tmp_path, corpus=None, **changes):
    """Write a campaign and return its path."""
    value = plans.campaign_value(**changes)
    folder = corpora.write(tmp_path, corpus or corpora.binary(), campaigns__fixture=value)
    return folder / "campaigns" / "fixture.yaml"


def refusal(path):
    with pytest.raises(InputError) as refused:
        load_campaign(path)
    assert refused.value.exit_code == 2
    return refused.value


def test_a_campaign_comes_with_its_corpus_and_the_digest_of_its_bytes(tmp_path):
    path = campaign(tmp_path, cases=["B"])
    loaded = load_campaign(path)
    assert loaded.spec.cases == ("B",)
    assert loaded.spec.mode is Mode.FIXTURE
    assert loaded.digest == digest_bytes(path.read_bytes())
    assert loaded.corpus_folder == path.parent.parent
    assert loaded.corpus.corpus.name == "tiny"
    assert campaign_files(loaded.corpus_folder) == [path]


def test_a_comment_changes_the_digest_of_a_campaign(tmp_path):
    path = campaign(tmp_path)
    before = load_campaign(path).digest
    path.write_bytes(b"# why\n" + path.read_bytes())
    assert load_campaign(path).digest != before


def test_an_empty_campaign_can_be_loaded(tmp_path):
    """It is recorded and never accepted (R51)."""
    assert load_campaign(campaign(tmp_path, cases=[])).spec.cases == ()


def test_a_campaign_over_samples_has_no_candidate(tmp_path):
    path = campaign(tmp_path, corpora.evidence(), candidate=None)
    assert load_campaign(path).spec.candidate is None


@pytest.mark.parametrize(
    ("changes", "message", "place"),
    [
        ({"cases": ["A", "C"]}, "expected a case of this corpus, got 'C'", "cases[1]"),
        ({"cases": ["a"]}, "expected a case of this corpus, got 'a'", "cases[0]"),
        ({"cases": ["A", "A"]}, "expected every id once, got 'A' twice", "cases[1]"),
        ({"candidate": None}, "expected a candidate for the protocol binary, got null", "candidate"),
        (
            {"judge": {"endpoint": {"kind": "fixture", "replies": [{"case_id": "Z", "role": "judge", "text": "x"}]}}},
            "expected a case of this corpus, got 'Z'",
            "judge.endpoint.replies[0].case_id",
        ),
        (
            {
                "judge": {
                    "endpoint": {"kind": "fixture", "replies": [{"case_id": "A", "role": "candidate", "text": ""}]}
                }
            },
            "expected replies of the judge only, got one of the candidate",
            "judge.endpoint.replies[0].role",
        ),
        ({"name": "other"}, "expected the name of the file, 'fixture', got 'other'", "name"),
        ({"repetitions": 0}, "Input should be greater than or equal to 1, got 0", "repetitions"),
        ({"repetitions": 101}, "Input should be less than or equal to 100, got 101", "repetitions"),
        ({"hints": True}, "Extra inputs are not permitted, got True", "hints"),
    ],
)
def test_a_campaign_that_does_not_fit(tmp_path, changes, message, place):
    error = refusal(campaign(tmp_path, **changes))
    assert error.message == message
    file, _, found = error.at.partition(" ")
    assert file.startswith("corpora/tiny/campaigns/fixture.yaml:")
    assert found == place


def test_the_place_is_the_line(tmp_path):
    path = campaign(tmp_path, cases=["A", "C"])
    lines = path.read_text(encoding="utf-8").splitlines()
    number = lines.index('    "C"') + 1
    assert refusal(path).at == f"corpora/tiny/campaigns/fixture.yaml:{number} cases[1]"


def test_a_field_inside_an_endpoint_has_its_own_line(tmp_path):
    wrong = {"endpoint": {**OLLAMA["endpoint"], "timeout_s": 0}}
    path = campaign(tmp_path, candidate=OLLAMA, judge=wrong)
    lines = path.read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if '"timeout_s": 0' in line)
    assert refusal(path).at.startswith(f"corpora/tiny/campaigns/fixture.yaml:{number} judge.endpoint")


def test_a_fixture_and_a_real_endpoint_do_not_mix(tmp_path):
    error = refusal(campaign(tmp_path, candidate=FIXTURE, judge=OLLAMA))
    assert "either fixture or not" in error.message


def test_a_candidate_where_the_protocol_has_none(tmp_path):
    error = refusal(campaign(tmp_path, corpora.evidence()))
    assert error.message == "expected null for the protocol evidence, got a candidate"


@pytest.mark.parametrize("name", ["corpus.yaml", "campaigns/fixture.json"])
def test_a_campaign_stands_in_its_folder(tmp_path, name):
    path = campaign(tmp_path).parent.parent / name
    assert refusal(path).message.startswith("expected a file corpora/<name>/campaigns/<campaign>.yaml, got ")


def test_an_absent_campaign(tmp_path):
    path = campaign(tmp_path).with_name("absent.yaml")
    assert refusal(path).at == "corpora/tiny/campaigns/absent.yaml"


def test_a_linked_campaign(tmp_path):
    path = campaign(tmp_path)
    path.rename(tmp_path / "elsewhere.yaml")
    path.symlink_to(tmp_path / "elsewhere.yaml")
    assert refusal(path).message == "expected a regular file, got a symbolic link"


def test_a_campaign_over_a_broken_corpus_names_the_corpus(tmp_path):
    path = campaign(tmp_path, {**corpora.binary(), "title": ""})
    assert refusal(path).at.startswith("corpora/tiny/corpus.yaml:")

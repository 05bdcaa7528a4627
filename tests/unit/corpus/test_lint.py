# SPDX-License-Identifier: Apache-2.0
"""Findings about corpora that load but are no good; each test plants one fault."""

import pytest
from support import corpora

from evalsite.corpus.lint import check_corpus
from evalsite.corpus.lint_translation import check_translation
from evalsite.corpus.load import load_corpus
from evalsite.schema.base import Severity

LONG = "Please carry the whole wardrobe down to the second floor before noon, and mind the banister."
PRESET = corpora.labels(corpora.label("s1", 1), corpora.label("s2", 0))
FULL = corpora.labels(corpora.label("g1", 100, "faithfulness"), corpora.label("g2", 0, "faithfulness"))


def codes(folder, *, ignore=("missing-category",)):
    return [finding.code for finding in check_corpus(load_corpus(folder)) if finding.code not in ignore]


def test_the_small_corpora_are_clean(tmp_path):
    assert codes(corpora.write(tmp_path, corpora.binary())) == []
    assert codes(corpora.write(tmp_path, corpora.evidence(name="e"), labels__preset=PRESET)) == []
    graded = corpora.write(tmp_path, corpora.graded(name="g"), cards__card=corpora.card(), labels__preset=FULL)
    assert codes(graded) == []


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        pytest.param("negative_counterexample.action", "assist", "negative-flags", id="action gives it away (R4)"),
        pytest.param("negative_counterexample.refused", True, "negative-flags", id="flag gives it away (R4)"),
        pytest.param("positive_reference.action", "assist", "positive-flags", id="reference fails its own case"),
        pytest.param("positive_reference.refused", True, "positive-flags", id="reference refuses"),
        pytest.param("negative_counterexample.response", "WHICH one do you mean??", "same-controls", id="same prose"),
        pytest.param("must_refuse", True, "refusal-flags", id="clarify, and yet refuse"),
        pytest.param("input.message", "Asks which size is meant.", "private-text-in-input", id="expectation leaks"),
        pytest.param(
            "input.context[0].text", "x Which one, do you mean? x", "private-text-in-input", id="answer leaks"
        ),
        pytest.param("input.message", "Where is my A order?", "id-in-input", id="id leaks (R6)"),
        pytest.param("tags", ["no-evidence"], "missing-caveat", id="evidence case without caveat (R118)"),
        pytest.param("title", "Ti\u200btle", "hidden-character", id="zero width space"),
        pytest.param("input.message", "abc \u202egnirts", "hidden-character", id="right-to-left override"),
    ],
)
def test_one_fault_of_a_case(tmp_path, path, value, code):
    case = corpora.put(corpora.binary_case("A"), path, value)
    assert code in codes(corpora.write(tmp_path, corpora.binary(case, corpora.binary_case("B"))))


def test_a_finding_says_where_and_why(tmp_path):
    case = corpora.binary_case("A", negative_counterexample={**corpora.GUESS, "action": "assist"})
    folder = corpora.write(tmp_path, corpora.binary(case))
    (finding,) = check_corpus(load_corpus(folder))
    lines = (folder / "corpus.yaml").read_text(encoding="utf-8").splitlines()
    number = next(number for number, line in enumerate(lines, 1) if "negative_counterexample" in line)
    assert finding.plain() == {
        "code": "negative-flags",
        "severity": "error",
        "at": f"corpora/tiny/corpus.yaml:{number}",
        "message": "A: the flags alone give the counter-example away: only its prose may break the policy",
        "rule": "R4",
    }


@pytest.mark.parametrize("role", ["candidate", "judge"])
@pytest.mark.parametrize("path", ["required_behavior", "positive_reference.response", "input.message"])
def test_r9_case_text_in_the_instructions(tmp_path, role, path):
    """Other case, blanks and punctuation do not hide a copy."""
    case = corpora.put(corpora.binary_case("A"), path, LONG)
    value = corpora.put(corpora.binary(case), f"instructions.{role}", "Rules: " + LONG.upper().replace(",", " \n -"))
    assert "case-text-in-instructions" in codes(corpora.write(tmp_path, value))


def test_r9_the_id_in_the_instructions(tmp_path):
    value = corpora.put(corpora.binary(corpora.binary_case("REFUND")), "instructions.candidate", "In REFUND, say no.")
    assert codes(corpora.write(tmp_path, value)) == ["id-in-instructions"]


def test_r9_short_common_phrases_are_no_leak(tmp_path):
    value = corpora.put(corpora.binary(), "instructions.candidate", "Ask which size is meant if the customer is vague.")
    assert codes(corpora.write(tmp_path, value)) == []


def test_chinese_text_leaks_in_fewer_characters(tmp_path):
    text = "请先向顾客询问订单号以及要退的是哪件商品"
    case = corpora.binary_case("A", required_behavior=text + "。")
    value = corpora.put(corpora.binary(case), "instructions.candidate", f"规则 1。{text}。不要猜测。")
    assert "case-text-in-instructions" in codes(corpora.write(tmp_path, value))


def test_a_long_quotation_of_the_input_is_a_warning(tmp_path):
    case = corpora.binary_case("A", required_behavior=f"Says this: {LONG} And then stops.")
    case = corpora.put(case, "input.message", f"You wrote: {LONG} Is that so?")
    findings = check_corpus(load_corpus(corpora.write(tmp_path, corpora.binary(case))))
    assert [(finding.code, finding.severity) for finding in findings] == [
        ("private-wording-in-input", Severity.WARNING)
    ]


def test_the_same_input_twice(tmp_path):
    second = corpora.binary_case("B", input=corpora.binary_case("A")["input"])
    assert codes(corpora.write(tmp_path, corpora.binary(corpora.binary_case("A"), second))) == ["duplicate-input"]


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("caveats", [], "no-caveats"),
        ("provenance.reviews", [], "no-review"),
        ("provenance.independent_human_validation", "closed", "closed-without-review"),
    ],
)
def test_one_fault_of_the_frame(tmp_path, path, value, code):
    assert codes(corpora.write(tmp_path, corpora.put(corpora.binary(), path, value))) == [code]


def test_a_corpus_without_cases_and_one_without_a_critical_case(tmp_path):
    assert codes(corpora.write(tmp_path, {**corpora.binary(), "cases": []})) == ["no-cases"]
    tame = corpora.binary(corpora.binary_case("A", critical=False))
    assert codes(corpora.write(tmp_path, tame)) == ["no-critical-case"]


@pytest.mark.parametrize(
    ("preset", "code"),
    [
        (corpora.labels(*PRESET["labels"], independently_reviewed_by_humans=True), "overclaimed-labels"),
        (corpora.labels(*PRESET["labels"], note=None), "missing-caveat"),
        (corpora.labels(corpora.label("s1", 1)), "unlabelled-cases"),
        (corpora.labels(corpora.label("s1", 1), corpora.label("s2", 1)), "one-pole"),
    ],
)
def test_one_fault_of_a_label_set(tmp_path, preset, code):
    assert code in codes(corpora.write(tmp_path, corpora.evidence(), labels__preset=preset))


def test_samples_without_labels(tmp_path):
    assert codes(corpora.write(tmp_path, corpora.evidence())) == ["no-labels"]


def test_preset_labels_stand_on_anchors(tmp_path):
    between = corpora.labels(*(corpora.label(case, value, "faithfulness") for case, value in (("g1", 100), ("g2", 37))))
    found = codes(corpora.write(tmp_path, corpora.graded(), cards__card=corpora.card(), labels__preset=between))
    assert found == ["off-anchor", "one-pole"]


def test_a_card_that_nobody_cites(tmp_path):
    folder = corpora.write(
        tmp_path, corpora.graded(), cards__card=corpora.card(), cards__b=corpora.card(id="B"), labels__preset=FULL
    )
    assert codes(folder) == ["unused-card"]


def test_missing_categories_are_named(tmp_path):
    folder = corpora.write(tmp_path, corpora.evidence(), labels__preset=PRESET)
    (finding,) = check_corpus(load_corpus(folder))
    expected = "no case has the tag ambiguous, embedded-instruction, evidence-missing, partially-correct"
    assert (finding.message, finding.rule) == (expected, "R125")


@pytest.mark.parametrize("value", [corpora.evidence, corpora.graded])
def test_the_same_sample_twice(tmp_path, value):
    corpus = value()
    corpus["cases"][1] = {**corpus["cases"][0], "id": "again"}
    cards = {"cards__card": corpora.card()} if value is corpora.graded else {}
    assert "duplicate-input" in codes(corpora.write(tmp_path, corpus, **cards))


def test_a_sample_without_evidence(tmp_path):
    bare = corpora.put(corpora.evidence(), "cases[1].evidence", [])
    assert codes(corpora.write(tmp_path, bare, labels__preset=PRESET)) == ["no-evidence-item"]


def translated(**changes):
    """Return a case whose every text differs from that of the case A."""
    texts = {
        "title": "Titre",
        "input": {"message": "Renvoyez-le.", "context": [{"title": "Tailles", "text": "Il y en a deux."}]},
        "required_behavior": "Demande la taille.",
        "forbidden_behavior": "Choisit une taille.",
        "positive_reference": {**corpora.ANSWER, "response": "Laquelle ?"},
        "negative_counterexample": {**corpora.GUESS, "response": "La grande, sans doute."},
    }
    return corpora.binary_case("A", **{**texts, **changes})


def translation_codes(tmp_path, *cases, **changes):
    corpora.write(tmp_path, corpora.binary(corpora.binary_case("A")))
    frame = {"name": "tiny-fr", "translation_of": "tiny", "language": "fr", **changes}
    folder = corpora.write(tmp_path, corpora.binary(*(cases or [translated()]), **frame))
    return codes(folder)


def test_a_good_translation(tmp_path):
    assert translation_codes(tmp_path) == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"critical": False}, "translation-differs"),
        ({"tags": ["other"]}, "translation-differs"),
        ({"caveat": "Neu."}, "translation-differs"),
        ({"input": {"message": "Renvoyez-le.", "context": []}}, "translation-differs"),
        ({"expected_action": "assist"}, "translation-differs"),
        (
            {"positive_reference": {"action": "assist", "response": "Laquelle ?", "refused": False}},
            "translation-differs",
        ),
        ({"negative_counterexample": {"action": "clarify", "response": "X.", "refused": True}}, "translation-differs"),
        ({"required_behavior": "Asks which size is meant."}, "not-translated"),
        ({"title": "Title"}, "not-translated"),
    ],
)
def test_a_translation_differs_in_its_texts_only(tmp_path, changes, code):
    assert code in translation_codes(tmp_path, translated(**changes))


def test_a_translation_of_other_cases(tmp_path):
    assert "translation-ids" in translation_codes(tmp_path, corpora.binary_case("B"))
    assert "translation-version" in translation_codes(tmp_path, version="2")


def test_a_translation_without_its_original(tmp_path):
    assert translation_codes(tmp_path, translation_of="elsewhere") == ["no-original"]
    corpora.write(tmp_path, corpora.evidence(name="samples"))
    assert {"translation-ids", "translation-protocol"} <= set(translation_codes(tmp_path, translation_of="samples"))
    (tmp_path / "corpora" / "samples" / "corpus.yaml").write_text("- broken", encoding="utf-8")
    assert translation_codes(tmp_path, translation_of="samples") == ["no-original"]


@pytest.mark.parametrize(
    ("path", "value", "code"),
    [
        ("cases[0].tags", ["verbose"], None),
        ("cases[0].tags", ["reworded"], "translation-differs"),
        ("cases[0].evidence", ["Un.", "Deux."], "translation-differs"),
        ("cases[0].explanation", "It says one.", "not-translated"),
    ],
)
def test_a_translation_of_samples(tmp_path, path, value, code):
    corpora.write(tmp_path, corpora.evidence(), labels__preset=PRESET)
    french = corpora.evidence(name="tiny-fr", translation_of="tiny")
    for number, case in enumerate(french["cases"]):
        case |= {"title": "Titre", "explanation": f"Il dit {number}."}
    folder = corpora.write(tmp_path, corpora.put(french, path, value), labels__preset=PRESET)
    assert codes(folder) == ([code] if code else [])


def test_a_translation_of_answers(tmp_path):
    files = {"cards__card": corpora.card(), "labels__preset": FULL}
    corpora.write(tmp_path, corpora.graded(), **files)
    french = corpora.graded(name="tiny-fr", translation_of="tiny")
    for number, case in enumerate(french["cases"]):
        case |= {"title": "Titre", "question": "Combien ?", "answer": f"Il y en a {number}."}
    assert codes(corpora.write(tmp_path, french, **files)) == []


def test_a_translation_of_something_else(tmp_path):
    original = load_corpus(corpora.write(tmp_path, corpora.binary(corpora.binary_case("A"))))
    other = load_corpus(corpora.write(tmp_path, corpora.binary(translated(), name="tiny-fr")))
    assert [finding.code for finding in check_translation(other, original)] == ["translation-of"]


def test_errors_come_first_then_files_and_lines(tmp_path):
    case = corpora.put(corpora.binary_case("A", tags=["no-evidence"]), "title", "Ti\u200btle")
    value = corpora.binary(corpora.put(corpora.binary_case("B"), "title", "\u200b"), case, caveats=[])
    found = check_corpus(load_corpus(corpora.write(tmp_path, value)))
    assert [finding.code for finding in found] == [
        "no-caveats",
        "missing-caveat",
        "hidden-character",
        "hidden-character",
    ]
    lines = [int(finding.at.rpartition(":")[2]) for finding in found]
    assert lines[:2] == sorted(lines[:2])
    assert lines[2:] == sorted(lines[2:])

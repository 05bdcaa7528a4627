# SPDX-License-Identifier: Apache-2.0
"""Findings about cases of the binary protocol: plausible controls, no leaks (R3, R4, R6, R9)."""

import re
from collections.abc import Iterator

from evalsite.corpus.findings import error, warning
from evalsite.corpus.load import CORPUS_FILE, LoadedCorpus
from evalsite.corpus.overlap import normalised, shared_run
from evalsite.schema.base import Finding
from evalsite.schema.corpus import BinaryCase, BinaryCorpus

#: Shared wording from this length on counts as copied, in letters; about eight words.
COPIED_LETTERS = 45
#: A reference may repeat a phrase of the documents that it relies on, but not whole sentences.
QUOTED_LETTERS = 75


def check(loaded: LoadedCorpus, corpus: BinaryCorpus) -> Iterator[Finding]:
    """Yield what is wrong or doubtful about the cases."""
    first_with: dict[str, str] = {}
    for index, case in enumerate(corpus.cases):
        place = _Place(loaded, index)
        yield from _check_controls(case, place)
        yield from _check_leaks(case, place)
        yield from _check_instructions(case, corpus, place)
        yield from _check_caveats(case, place)
        text = normalised(public_text(case))
        if text in first_with:
            message = f"the input is the same as that of {first_with[text]}"
            yield place.error("duplicate-input", "input", message=message, rule="R1")
        first_with.setdefault(text, case.id)
    if corpus.cases and not any(case.critical for case in corpus.cases):
        message = "no case is critical: critical failures of this corpus are always zero"
        at = loaded.place(CORPUS_FILE, "cases")
        yield warning("no-critical-case", at, message=message, rule="R3")


def public_text(case: BinaryCase) -> str:
    """Return all text that a candidate sees of a case, in one string."""
    items = [part for item in case.input.context for part in (item.title, item.text)]
    return "\n".join([case.input.message, *items])


def private_texts(case: BinaryCase) -> dict[str, str]:
    """Return the texts of a case that no candidate may see, by field path."""
    return {
        "required_behavior": case.required_behavior,
        "forbidden_behavior": case.forbidden_behavior,
        "positive_reference.response": case.positive_reference.response,
        "negative_counterexample.response": case.negative_counterexample.response,
    }


class _Place:
    """Makes findings about the fields of one case."""

    def __init__(self, loaded: LoadedCorpus, index: int) -> None:
        self._loaded = loaded
        self._index = index

    def error(self, code: str, field: str, *, message: str, rule: str) -> Finding:
        return error(code, self._at(field), message=self._named(message), rule=rule)

    def warning(self, code: str, field: str, *, message: str, rule: str) -> Finding:
        return warning(code, self._at(field), message=self._named(message), rule=rule)

    def _at(self, field: str) -> str:
        return self._loaded.place(CORPUS_FILE, f"cases[{self._index}].{field}")

    def _named(self, message: str) -> str:
        return f"{self._loaded.corpus.cases[self._index].id}: {message}"


def _check_controls(case: BinaryCase, place: _Place) -> Iterator[Finding]:
    expected = (case.expected_action, case.must_refuse)
    positive, negative = case.positive_reference, case.negative_counterexample
    if (positive.action, positive.refused) != expected:
        message = "the positive reference has other flags than the case expects"
        yield place.error("positive-flags", "positive_reference", message=message, rule="R1")
    if (negative.action, negative.refused) != expected:
        message = "the flags alone give the counter-example away: only its prose may break the policy"
        yield place.error("negative-flags", "negative_counterexample", message=message, rule="R4")
    if normalised(positive.response) == normalised(negative.response):
        message = "reference and counter-example say the same"
        yield place.error("same-controls", "negative_counterexample.response", message=message, rule="R4")
    if case.must_refuse != (case.expected_action.value == "refuse"):
        message = "expected action and must-refuse flag contradict each other"
        yield place.warning("refusal-flags", "must_refuse", message=message, rule="R1")


def _check_leaks(case: BinaryCase, place: _Place) -> Iterator[Finding]:
    public = public_text(case)
    for field, text in private_texts(case).items():
        if normalised(text) in normalised(public):
            yield place.error("private-text-in-input", field, message="the input holds this private text", rule="R6")
        elif run := shared_run(text, public, letters=QUOTED_LETTERS):
            message = f"the input shares a long stretch with this private text: '{run}'"
            yield place.warning("private-wording-in-input", field, message=message, rule="R6")
    if re.search(rf"(?<![\w-]){re.escape(case.id)}(?![\w-])", public):
        yield place.error("id-in-input", "input", message="the input holds the case's id", rule="R6")


def _check_instructions(case: BinaryCase, corpus: BinaryCorpus, place: _Place) -> Iterator[Finding]:
    texts = private_texts(case) | {"input.message": case.input.message}
    texts |= {f"input.context[{index}].text": item.text for index, item in enumerate(case.input.context)}
    for role, instructions in (("candidate", corpus.instructions.candidate), ("judge", corpus.instructions.judge)):
        for field, text in texts.items():
            if instructions and (run := shared_run(text, instructions, letters=COPIED_LETTERS)):
                message = f"the {role}'s instructions hold text of this case: '{run}'"
                yield place.error("case-text-in-instructions", field, message=message, rule="R9")


def _check_caveats(case: BinaryCase, place: _Place) -> Iterator[Finding]:
    if "no-evidence" in case.tags and case.caveat is None:
        message = "a case about missing evidence must say that it tests supplied context, not retrieval"
        yield place.error("missing-caveat", "caveat", message=message, rule="R118")
    if case.must_refuse and case.caveat is None:
        message = "a case to be declined should say that a pass does not permit the request"
        yield place.warning("missing-caveat", "caveat", message=message, rule="R59")

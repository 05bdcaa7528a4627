# SPDX-License-Identifier: Apache-2.0
"""Findings about a corpus that can be loaded but may be no good.

An error is a rule of the requirements broken; a warning asks the author to look; a note informs.
Nothing here reads a reply or calls an endpoint: it is about what the authors wrote.
"""

import re
from collections.abc import Iterator

from evalsite.corpus import lint_binary, lint_labelled, lint_pairwise
from evalsite.corpus.crosscheck import folded
from evalsite.corpus.findings import error, ordered, warning
from evalsite.corpus.lint_translation import check_translation
from evalsite.corpus.load import CORPUS_FILE, LoadedCorpus, load_corpus
from evalsite.errors import InputError
from evalsite.schema.base import Finding
from evalsite.schema.corpus import BinaryCorpus, EvidenceCorpus, GradedCorpus

# Characters that a reader cannot see or that reorder what is seen (Unicode TR 36, TR 39).
_HIDDEN = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]|[\x00-\x08\x0b-\x1f\x7f]"
)


def check_corpus(loaded: LoadedCorpus) -> list[Finding]:
    """Return what is wrong or doubtful about a corpus, errors first, then by place.

    A translation is compared with its original if that stands in the folder beside it.
    """
    findings = list(_check_frame(loaded))
    findings += _check_hidden(loaded)
    corpus = loaded.corpus
    if isinstance(corpus, BinaryCorpus):
        findings += lint_binary.check(loaded, corpus)
    elif isinstance(corpus, EvidenceCorpus):
        findings += lint_labelled.check_evidence(loaded, corpus)
    elif isinstance(corpus, GradedCorpus):
        findings += lint_labelled.check_graded(loaded, corpus)
    else:
        findings += lint_pairwise.check(loaded, corpus)
    findings += lint_labelled.check_label_sets(loaded)
    findings += lint_labelled.check_controls(loaded)
    if corpus.translation_of is not None:
        findings += _check_against_original(loaded, corpus.translation_of)
    return ordered(findings)


def _check_against_original(loaded: LoadedCorpus, name: str) -> list[Finding]:
    at = loaded.place(CORPUS_FILE, "translation_of")
    folder = loaded.folder.parent / name
    if not folder.is_dir():
        message = f"the original {name} does not stand beside this corpus: nothing was compared"
        return [warning("no-original", at, message=message, rule="translations")]
    try:
        original = load_corpus(folder)
    except InputError as exc:
        message = f"the original {name} cannot be loaded ({exc.at}): nothing was compared"
        return [warning("no-original", at, message=message, rule="translations")]
    return check_translation(loaded, original)


def _check_frame(loaded: LoadedCorpus) -> Iterator[Finding]:
    corpus = loaded.corpus
    provenance = corpus.provenance

    def at(field: str) -> str:
        return loaded.place(CORPUS_FILE, field)

    if not corpus.cases:
        yield warning(
            "no-cases", at("cases"), message="the corpus has no case: no campaign over it is ever accepted", rule="R51"
        )
    if not corpus.caveats:
        yield error(
            "no-caveats", at("caveats"), message="the corpus states no caveat about what its texts are", rule="R113"
        )
    if not provenance.reviews:
        yield warning("no-review", at("provenance.reviews"), message="nobody has reviewed the corpus", rule="R113")
    human = any(review.kind == "human" for review in provenance.reviews)
    if provenance.independent_human_validation == "closed" and not human:
        place = at("provenance.independent_human_validation")
        yield error(
            "closed-without-review",
            place,
            message="the human reservation is closed without a human review",
            rule="R113",
        )
    for role, text in (("candidate", corpus.instructions.candidate), ("judge", corpus.instructions.judge)):
        for case in corpus.cases:
            if text is not None and re.search(rf"(?<![\w-]){re.escape(case.id)}(?![\w-])", text):
                place = at(f"instructions.{role}")
                yield error("id-in-instructions", place, message=f"the instructions name the case {case.id}", rule="R9")
    if isinstance(corpus, GradedCorpus):
        yield from _check_unused_cards(loaded, corpus)


def _check_unused_cards(loaded: LoadedCorpus, corpus: GradedCorpus) -> Iterator[Finding]:
    cited = [case.cards for case in corpus.cases] + [control.cards for control in corpus.controls or ()]
    used = {folded(card) for cards in cited for card in cards}
    for card in corpus.cards:
        if folded(card.id) not in used:
            place = loaded.place(f"cards/{card.id.lower()}.yaml", "id")
            yield warning("unused-card", place, message=f"no case or control cites the card {card.id}", rule="")


def _check_hidden(loaded: LoadedCorpus) -> Iterator[Finding]:
    for document in loaded.documents.values():
        for path, text in _texts(document.value, ""):
            if found := _HIDDEN.search(text):
                message = f"the text holds the invisible character U+{ord(found.group()):04X}"
                yield warning("hidden-character", document.place(path), message=message, rule="Unicode TR 36")


def _texts(value: object, path: str) -> Iterator[tuple[str, str]]:
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from _texts(item, f"{path}[{index}]")
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _texts(item, f"{path}.{key}" if path else key)

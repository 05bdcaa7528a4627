# SPDX-License-Identifier: Apache-2.0
"""Findings about pairs of answers (R97; docs/reference/calibration.md)."""

from collections.abc import Iterator

from evalsite.corpus.findings import error, warning
from evalsite.corpus.load import CORPUS_FILE, LoadedCorpus
from evalsite.corpus.overlap import normalised
from evalsite.schema.base import Finding
from evalsite.schema.corpus import PairwiseCase, PairwiseCorpus

#: What pairs must hold so that habits of a judge can show, as tags.
CATEGORIES = frozenset({"identical", "longer-but-worse", "embedded-instruction"})
#: Of so many pairs with a better answer the longer one may be it: beyond that, a ruler would judge as well.
_LONGER_OF = (2, 3)
_TIE, _A = 0, 1


def check(loaded: LoadedCorpus, corpus: PairwiseCorpus) -> Iterator[Finding]:
    """Yield missing categories, doubled pairs, and labels that equal answers belie or that follow length."""
    yield from _check_categories(loaded, corpus)
    yield from _check_doubled(loaded, corpus)
    for label_set in loaded.label_sets:
        values = {label.case_id: label.value for label in label_set.labels}
        for index, label in enumerate(label_set.labels):
            case = next(case for case in corpus.cases if case.id == label.case_id)
            if case.answer_a == case.answer_b and label.value != _TIE:
                at = loaded.place(f"labels/{label_set.name}.yaml", f"labels[{index}].value")
                yield error("unequal-equals", at, message=f"{case.id}: one of two equal answers is better", rule="R97")
        yield from _check_length(loaded, label_set.name, [(case, values.get(case.id, _TIE)) for case in corpus.cases])


def _check_categories(loaded: LoadedCorpus, corpus: PairwiseCorpus) -> Iterator[Finding]:
    tags = {tag for case in corpus.cases for tag in case.tags}
    if missing := sorted(CATEGORIES - tags):
        message = f"no case has the tag {', '.join(missing)}"
        yield warning("missing-category", loaded.place(CORPUS_FILE, "cases"), message=message, rule="R97")
    for index, case in enumerate(corpus.cases):
        if (case.answer_a == case.answer_b) is not ("identical" in case.tags):
            at = loaded.place(CORPUS_FILE, f"cases[{index}].tags")
            message = f"{case.id}: the tag identical and the answers do not say the same"
            yield error("identical-tag", at, message=message, rule="R97")


def _check_doubled(loaded: LoadedCorpus, corpus: PairwiseCorpus) -> Iterator[Finding]:
    seen: dict[str, str] = {}
    for index, case in enumerate(corpus.cases):
        answers = sorted((case.answer_a, case.answer_b))  # swapped, it is the same pair
        key = normalised("\n".join((case.question, *answers)))
        if key in seen:
            at = loaded.place(CORPUS_FILE, f"cases[{index}].id")
            yield error("duplicate-input", at, message=f"{case.id}: the pair is the same as {seen[key]}", rule="R1")
        seen.setdefault(key, case.id)


def _check_length(loaded: LoadedCorpus, name: str, labels: list[tuple[PairwiseCase, int]]) -> Iterator[Finding]:
    better = [
        len(case.answer_a) > len(case.answer_b) if value == _A else len(case.answer_b) > len(case.answer_a)
        for case, value in labels
        if value != _TIE
    ]
    most, of = _LONGER_OF
    if sum(better) * of > len(better) * most:
        at = loaded.place(f"labels/{name}.yaml", "labels")
        message = f"the longer answer is better in {sum(better)} of {len(better)} pairs: a ruler would judge as well"
        yield warning("length-decides", at, message=message, rule="T9")

# SPDX-License-Identifier: Apache-2.0
"""From a sheet to what it is about: the corpus, the run or the annotators whose labels it decides."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evalsite.campaign.labelling import Labelled
from evalsite.campaign.labelsheet import ReadSheet, filled
from evalsite.campaign.labelsource import About, LabelSource, corpus_source, run_source
from evalsite.campaign.trusted import TrustedRun
from evalsite.corpus.load import LoadedCorpus, load_corpus
from evalsite.errors import InputError, IntegrityError
from evalsite.judging.aligning import Aligned, align_annotators
from evalsite.judging.constructs import criteria_of
from evalsite.ledger.labelbook import LabelBook, same_sheet
from evalsite.ledger.labelseal import check_reveal
from evalsite.ledger.layout import check_name
from evalsite.schema.calibration import Criterion
from evalsite.schema.corpus import BinaryCorpus
from evalsite.schema.labels import LabelSubject, SealedLabels, about_digest
from evalsite.schema.outcome import Protocol


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where labels are worked on.

    ``load_run`` returns a verified run; ``open_labels`` the private labels of an annotator, wherever this
    machine has them.
    """

    project: Path
    book: LabelBook
    load_run: Callable[[str], TrustedRun]
    open_labels: Callable[[str], SealedLabels]


def named_corpus(project: Path, name: str) -> LoadedCorpus:
    """Return a corpus of the project by its name, which is no path.

    Raises:
        InputError: No name of a corpus, or none that can be loaded.
    """
    return load_corpus(project / "corpora" / check_name(name, "corpus"))


def source_of(desk: Desk, corpus: str, run: str | None, criterion: Criterion | None) -> LabelSource:
    """Return what there is to label in a corpus, or in the answers of a run.

    Args:
        desk: Where labels are worked on.
        corpus: Name of the corpus; not read if a run is named.
        run: Name of a sealed run of the binary protocol.
        criterion: What is labelled; null where the protocol has only one.

    Raises:
        InputError: No such corpus or run, or another protocol.
    """
    if run is not None:
        if criterion not in {None, Criterion.BINARY}:
            raise InputError("expected the criterion binary for answers of a run", at="--criterion", rule="T1")
        return run_source(desk.load_run(run))
    loaded = named_corpus(desk.project, corpus)
    if criterion is None:
        known = criteria_of(Protocol(loaded.corpus.protocol))
        if len(known) != 1:
            names = " or ".join(found.value for found in known) or "none: labels of this protocol decide nothing"
            raise InputError("expected to be told which criterion", at="--criterion", rule="T1", advice=names)
        [criterion] = known
    return corpus_source(loaded, criterion)


def finish(desk: Desk, read: ReadSheet, run: str | None) -> Labelled:
    """Return the labels of a filled sheet; an adjudication's with those that the annotators agree on.

    Args:
        desk: Where labels are worked on.
        read: The sheet.
        run: The run whose answers were labelled, if its cards are not frozen yet.

    Raises:
        InputError: The sheet is about nothing that is here as it was, or it is not complete.
    """
    for source, about, aligned in _candidates(desk, read, run):
        of = () if about is None else about.of
        if about_digest(source.subject, of) == read.sheet.about:
            given = filled(read, source, about)
            agreed = () if aligned is None else aligned.agreed
            return Labelled(subject=source.subject, labels=(*agreed, *given), of=of)
    raise InputError(
        f"expected a sheet of {read.sheet.corpus} as it is now, or of answers or annotators of this ledger",
        at=read.place(0),
        rule="corpus fingerprint",
        advice="The corpus or its rubric changed, or the sheet is about a run: name it with --run.",
    )


def compare_annotators(desk: Desk, names: tuple[str, ...]) -> tuple[LabelSource, About, Aligned]:
    """Return what annotators labelled, what they differ in, and how far they agree.

    Raises:
        InputError: Fewer than two, a name without a commitment, other labels than were committed, or
            annotators of different subjects or items.
        UndecidedError: The private labels of one are not here.
    """
    subject = _one_subject(desk, names)
    labels = [_private(desk, name) for name in names]
    items = [{label.item for label in sealed.labels} for sealed in labels]
    if any(found != items[0] for found in items):
        raise InputError("expected annotators that labelled the same items", at=names[0], rule="R75")
    source = source_of(desk, subject.corpus, subject.run, subject.criterion)
    if source.subject != subject:
        raise InputError(
            f"expected {subject.corpus} as it was labelled, it is another by now",
            at=names[0],
            rule="corpus fingerprint",
        )
    answers = [{label.item: label for label in sealed.labels} for sealed in labels]
    aligned = align_annotators(answers, subject.criterion, desk.book.labels[names[0]].lock)
    return source, About(of=names, items=aligned.differing), aligned


def _one_subject(desk: Desk, names: tuple[str, ...]) -> LabelSubject:
    if len(set(names)) != len(names) or len(names) < 2:  # noqa: PLR2004 - two can agree
        raise InputError("expected two annotators or more, each once", at="label adjudicate", rule="R75")
    unknown = [name for name in names if name not in desk.book.labels]
    if unknown:
        raise InputError(f"expected committed labels {unknown[0]}, found none", at=unknown[0], rule="R78")
    commitments = [desk.book.labels[name].commitment for name in names]
    if any(one.kind != "annotator" or one.subject != commitments[0].subject for one in commitments):
        raise InputError("expected annotators of one subject", at=", ".join(names), rule="R75")
    sheets: dict[str, str] = {}
    for one in commitments:
        if (first := sheets.setdefault(one.seed, one.name)) != one.name:
            advice = "Let each annotator label a sheet of their own: evalsite label sheet."
            raise InputError(same_sheet(first, one.name), at=one.name, rule="R75", advice=advice)
    return commitments[0].subject


def _private(desk: Desk, name: str) -> SealedLabels:
    sealed = desk.open_labels(name)
    try:
        check_reveal(desk.book.ledger, desk.book.labels[name].commitment, sealed)
    except IntegrityError as exc:
        raise InputError(exc.message, at=name, rule=exc.rule) from exc
    return sealed


_Candidate = tuple[LabelSource, About | None, Aligned | None]


def _candidates(desk: Desk, read: ReadSheet, run: str | None) -> Iterator[_Candidate]:
    """Yield all that a sheet could be about: the corpus, answers of a run, then what annotators differ in."""
    sheet, book = read.sheet, desk.book
    if run is not None:
        yield run_source(desk.load_run(run)), None, None
    loaded = load_corpus(desk.project / "corpora" / sheet.corpus)
    if not isinstance(loaded.corpus, BinaryCorpus):
        yield corpus_source(loaded, sheet.criterion), None, None
    for corpus, _, frozen in sorted(book.cards, key=str):
        if corpus == sheet.corpus and frozen is not None:
            yield run_source(desk.load_run(frozen)), None, None
    for names in _aligned(book):
        subject = book.labels[names[0]].commitment.subject
        if about_digest(subject, names) == sheet.about:
            yield compare_annotators(desk, names)


def _aligned(book: LabelBook) -> Mapping[tuple[str, ...], None]:
    alignments = (proven.alignment for proven in book.labels.values())
    return dict.fromkeys(alignment.commitments for alignment in alignments if alignment is not None)

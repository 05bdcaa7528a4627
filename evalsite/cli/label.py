# SPDX-License-Identifier: Apache-2.0
"""``evalsite label``: blind labels of people, committed before the judge runs and revealed behind it."""

import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from pathlib import Path

import click

from evalsite.campaign import labelling
from evalsite.campaign.labelsheet import read_sheet, sheet_bytes
from evalsite.campaign.labelsource import About, LabelSource, blank_sheet
from evalsite.campaign.labelwork import Desk, compare_annotators, finish, named_corpus, source_of
from evalsite.campaign.project import load_run
from evalsite.cli import output
from evalsite.cli.context import find_project, host_clock, json_option, ledger_option, writing_ledger
from evalsite.cli.labelserve import serve
from evalsite.cli.reports import LabelListReport
from evalsite.cli.unlock import passphrase_option
from evalsite.errors import InputError, UndecidedError, shorten
from evalsite.judging.constructs import criteria_of
from evalsite.judging.designlock import DEFAULT_LOCK
from evalsite.ledger import labelstore
from evalsite.ledger.labelbook import LabelBook, ProvenLabels
from evalsite.ledger.labelwriter import LabelWriter
from evalsite.ledger.pins import all_pins, keystore_folder
from evalsite.ledger.verify import ledger_names
from evalsite.ledger.writer import open_ledger
from evalsite.schema.calibration import Criterion, DesignLock
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.labels import LabelSubject, SealedLabels
from evalsite.schema.outcome import Protocol
from evalsite.storage import create

_FILE = click.Path(path_type=Path, dir_okay=False, exists=True)
_into_option = click.option(
    "--into", type=click.Path(path_type=Path, dir_okay=False), required=True, help="The sheet's file, .yaml or .csv."
)
_seed_option = click.option(
    "--seed", metavar="HEX", help="16 hexadecimal digits: the order of an earlier sheet. Default: random, printed."
)
_annotator_option = click.option(
    "--annotator", metavar="ROLE", default="annotator", help="Role of who labels; no name."
)
_from_option = click.option(
    "--from", "files", type=_FILE, multiple=True, help="Private labels that an annotator handed over (repeatable)."
)
_corpus_option = click.option("--corpus", metavar="NAME", help="Texts of this corpus (evidence and graded protocol).")
_run_option = click.option("--run", metavar="RUN", help="The candidate's answers of this sealed run (binary protocol).")


@click.group()
def label() -> None:
    """Label blind, commit before the judge runs, reveal behind it."""


label.add_command(serve)


@label.command("freeze")
@_corpus_option
@_run_option
@ledger_option
@passphrase_option
def freeze(corpus: str | None, run: str | None, ledger: str | None) -> None:
    """Log the constants of the gates and the texts that will be labelled, before any label.

    Constants come from the corpus's design-lock.yaml, or are those of this software.
    """
    with _writing(ledger, ()) as (labels, desk):
        criterion = None if corpus is None else _some_criterion(desk.project, corpus)
        source = _source(desk, corpus, run, criterion)
        logged = labelling.freeze(labels, source.subject, _lock(desk, source.subject), now=host_clock().now())
    output.say(f"frozen  {', '.join(logged) or 'nothing new: constants and texts are in the log as they are'}")


@label.command("sheet")
@_corpus_option
@_run_option
@click.option("--criterion", type=click.Choice([criterion.value for criterion in Criterion]), help="What is labelled.")
@_annotator_option
@_seed_option
@_into_option
def sheet(
    corpus: str | None, run: str | None, criterion: str | None, annotator: str, seed: str | None, into: Path
) -> None:
    """Write a blind sheet for one annotator: shuffled, with nothing of judge, model or other labels."""
    project = find_project()
    source = _source(
        _desk(project, LabelBook(ledger="none"), ()), corpus, run, None if criterion is None else Criterion(criterion)
    )
    _write(source, into, annotator, seed, None)


@label.command("commit")
@click.argument("sheet", type=_FILE)
@click.option("--name", required=True, help="Name of the labels in the log, for instance human-a.")
@click.option(
    "--level",
    type=click.Choice([level.value for level in LabelLevel]),
    required=True,
    help="What you claim of the labels; the log's order can only lower it.",
)
@click.option(
    "--saw-verdicts", is_flag=True, help="The annotator knew verdicts of the judge: the labels are not blind."
)
@click.option("--supersedes", metavar="NAME", help="Earlier labels that these replace.")
@_run_option
@_from_option
@ledger_option
@passphrase_option
def commit(  # noqa: PLR0913 - the facts of a commitment
    sheet: Path,
    name: str,
    level: str,
    run: str | None,
    supersedes: str | None,
    files: tuple[Path, ...],
    *,
    ledger: str | None,
    saw_verdicts: bool,
) -> None:
    """Commit the labels of a filled SHEET: their salted root goes into the log, they stay in your keystore."""
    read = read_sheet(sheet)
    with _writing(ledger, files) as (labels, desk):
        now = host_clock().now()
        labelled = finish(desk, read, run)
        if not labelled.of:
            labelling.freeze(labels, labelled.subject, _lock(desk, labelled.subject), now=now)
        claim = labelling.Claim(
            name=name,
            annotator=read.sheet.annotator,
            level=LabelLevel(level),
            blind=not saw_verdicts,
            seed=read.sheet.seed,
            supersedes=supersedes,
        )
        commitment = labelling.commit(labels, keystore_folder(), labelled, claim, now=now)
    output.say(f"labels     {commitment.name}, {commitment.count} of {commitment.subject.criterion.value}")
    output.say(f"root       {commitment.root}")
    output.note("The labels are in your keystore. Keep a copy: without it they can never be revealed.")


@label.command("adjudicate")
@click.argument("names", nargs=-1, required=True, metavar="NAME NAME...")
@_annotator_option
@_seed_option
@_from_option
@_into_option
@ledger_option
@passphrase_option
def adjudicate(
    names: tuple[str, ...], annotator: str, seed: str | None, files: tuple[Path, ...], into: Path, ledger: str | None
) -> None:
    """Log how far annotators agree, and write a blind sheet of what they differ in.

    Commit the filled sheet like any other: what they agree on is taken over.
    """
    with _writing(ledger, files) as (labels, desk):
        source, about, aligned = compare_annotators(desk, names)
        before = {proven.alignment.commitments for proven in desk.book.labels.values() if proven.alignment}
        if names not in before:
            labelling.align(labels, names, aligned, now=host_clock().now())
    output.say(f"items     {len(aligned.agreed) + len(aligned.differing)}, {aligned.compared} decided by two or more")
    output.say(f"agreed    {len(aligned.agreed)}")
    output.say(f"differing {len(aligned.differing)}")
    output.say(f"alpha     {_alpha(aligned.alpha)}")
    _write(source, into, annotator, seed, about)


@label.command("reveal")
@click.argument("name")
@click.option("--unused", is_flag=True, help="Reveal although no run named these labels; no gate can rest on them.")
@_from_option
@ledger_option
@passphrase_option
def reveal(name: str, files: tuple[Path, ...], ledger: str | None, *, unused: bool) -> None:
    """Publish labels and their nonces, once every run that must not know them is closed."""
    with _writing(ledger, files) as (labels, desk):
        sealed = desk.open_labels(name)
        labelling.reveal(labels, sealed, now=host_clock().now(), unused=unused)
        chosen = labels.ledger
    output.say(f"revealed  {name}, {len(sealed.labels)} labels: runs/log/{chosen}/labels/{name}.json")


@label.command("list")
@json_option
def list_labels(as_json: bool) -> None:  # noqa: FBT001 - click hands flags over by name
    """List committed labels, what they count for, and the runs that name them."""
    project, pins = find_project(), all_pins()
    books = [labelling.load_labels(project, name, pins=pins) for name in ledger_names(project)]
    rows = [_row(book, proven) for book in books for proven in book.labels.values()]
    if as_json:
        output.say_report(LabelListReport, {"labels": rows})
        return
    header = ("labels", "ledger", "kind", "criterion", "items", "claimed", "revealed", "named by")
    keys = ("name", "ledger", "kind", "criterion", "count", "claimed_level", "revealed", "named_by")
    output.say_table(header, [[_cell(row[key]) for key in keys] for row in rows])


def _row(book: LabelBook, proven: ProvenLabels) -> dict[str, object]:
    commitment = proven.commitment
    return {
        "name": commitment.name,
        "ledger": book.ledger,
        "kind": commitment.kind,
        "criterion": commitment.subject.criterion.value,
        "corpus": commitment.subject.corpus,
        "count": commitment.count,
        "claimed_level": commitment.claimed_level.value,
        "blind": commitment.blind,
        "root": commitment.root,
        "committed": proven.positions.committed,
        "revealed": proven.positions.revealed,
        "named_by": [use.run for use in book.uses if use.commitment == commitment.name],
    }


def _cell(value: object) -> str:
    if isinstance(value, list):
        return ", ".join(map(str, value)) or "-"
    return "-" if value is None else str(value)


@contextmanager
def _writing(ledger: str | None, files: tuple[Path, ...]) -> Iterator[tuple[LabelWriter, Desk]]:
    project, keystore = find_project(), keystore_folder()
    with open_ledger(project, keystore, writing_ledger(project, keystore, ledger)) as writer:
        yield writer.labels, _desk(project, writer.labels.book, files)


def _desk(project: Path, book: LabelBook, files: tuple[Path, ...]) -> Desk:
    pins = all_pins()

    def open_labels(name: str) -> SealedLabels:
        if name not in book.labels:
            known = ", ".join(sorted(book.labels)) or "none yet"
            message = f"expected labels that are committed in {book.ledger}, found none named {shorten(name, 40)}"
            raise InputError(message, at="NAME", rule="R78", advice=f"Committed are: {known}.")
        handed = next((path for path in files if path.stem == name), None)
        if handed is not None:
            return labelstore.open_file(handed, name)
        try:
            return labelstore.load_labels(keystore_folder(), book.ledger, name)
        except UndecidedError as exc:
            exc.advice = f"Name the file that the annotator handed over: --from {name}.json"
            raise

    return Desk(
        project=project, book=book, load_run=lambda run: load_run(project, run, pins=pins), open_labels=open_labels
    )


def _source(desk: Desk, corpus: str | None, run: str | None, criterion: Criterion | None) -> LabelSource:
    if (corpus is None) is (run is None):
        raise InputError("expected one of --corpus and --run", at="evalsite label")
    return source_of(desk, corpus or "", run, criterion)


def _some_criterion(project: Path, corpus: str) -> Criterion | None:
    """Return any criterion of a corpus: constants and texts are frozen for all of them at once."""
    protocol = Protocol(named_corpus(project, corpus).corpus.protocol)
    return next(iter(criteria_of(protocol)), None)


def _lock(desk: Desk, subject: LabelSubject) -> DesignLock:
    return named_corpus(desk.project, subject.corpus).design_lock or DEFAULT_LOCK


def _write(source: LabelSource, into: Path, annotator: str, seed: str | None, about: About | None) -> None:
    if seed is not None and not re.fullmatch(r"[0-9a-f]{16}", seed):
        raise InputError(f"expected a seed of 16 hexadecimal digits, got {shorten(seed, 40)}", at="--seed")
    seed = seed or secrets.token_hex(8)
    blank = blank_sheet(source, annotator=annotator, seed=seed, about=about)
    create(into, sheet_bytes(blank, into.suffix))
    output.say(f"sheet     {into}, {len(blank.items)} items")
    output.say(f"seed      {seed}")
    output.note(f"Next: evalsite label serve {into}")


def _alpha(alpha: Fraction | None) -> str:
    if alpha is None:
        return "undefined: no two labels could have differed"
    return f"{float(alpha):.3f} ({alpha.numerator}/{alpha.denominator})"

# SPDX-License-Identifier: Apache-2.0
"""Labels of people: sheets, private labels with their nonces, and what is revealed later (R75, R77, R78).

A label is one of very few values, so that a plain hash of it could be guessed: each gets a nonce of 32
bytes, and the commitment is the Merkle root (RFC 6962) over the salted labels in the order of the items.
"""

from typing import Annotated, Final, Literal

from pydantic import Field, StringConstraints

from evalsite.canonical.digest import digest_value
from evalsite.schema import bounds
from evalsite.schema.base import CaseId, DigestText, FolderName, ShortText, StrictModel
from evalsite.schema.calibration import Criterion
from evalsite.schema.corpus import LabelLevel
from evalsite.schema.outcome import Dimension

#: The label of an item that is not labelled yet.
UNLABELLED: Final = "todo"
#: 32 random bytes in lower-case hexadecimal.
Nonce = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{64}$")]


class LabelItem(StrictModel):
    """What one label is about.

    ``repetition`` is set where the answers of a run are labelled, ``dimension`` for the graded protocol.
    """

    case_id: CaseId
    repetition: Annotated[int, Field(ge=1, le=bounds.MAX_REPETITIONS)] | None
    dimension: Dimension | None

    def label(self) -> str:
        """Return a short readable name, such as ``MISSING #2``."""
        parts = [self.case_id]
        if self.dimension is not None:
            parts.append(self.dimension.value)
        if self.repetition is not None:
            parts.append(f"#{self.repetition}")
        return " ".join(parts)


class LabelSubject(StrictModel):
    """Which texts were labelled: a corpus, or the candidate answers of a sealed run.

    ``run`` and ``run_root`` are set for answers of a run; ``rubric_digest`` is the digest of what
    annotators were told to look for.
    """

    corpus: FolderName
    corpus_fingerprint: DigestText
    run: FolderName | None
    run_root: DigestText | None
    criterion: Criterion
    construct_version: ShortText
    rubric_digest: DigestText


class GivenLabel(StrictModel):
    """One label: 0 or 1, a grade from 0 to 100, or null where a person could not decide."""

    item: LabelItem
    value: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)] | None
    note: ShortText | None


class SaltedLabel(GivenLabel):
    """A label with its nonce: the bytes that a commitment's leaf is the hash of."""

    nonce: Nonce


class ShownText(StrictModel):
    """One text of an item, with a title that tells what it is."""

    title: ShortText
    text: str


class SheetItem(StrictModel):
    """What an annotator is shown of one item: titled texts, and nothing of judge, candidate or others.

    ``key`` stands for the item: the id of a case can give its author's opinion away. ``label`` is `UNLABELLED`
    until the annotator decided; null says that a person could not decide.
    """

    key: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    texts: tuple[ShownText, ...]
    label: Annotated[int, Field(ge=0, le=bounds.MAX_GRADE)] | Literal["todo"] | None
    note: ShortText | None


class LabelSheet(StrictModel):
    """A blind sheet for one annotator, in an order that the seed alone decides (R77).

    ``about`` is a digest of what is labelled (`about_digest`): the sheet names neither the run whose
    answers stand in it nor labels of others. A sheet without items is an adjudication of annotators that
    agree on everything.
    """

    format: Literal["evalsite/label-sheet/v1"]
    corpus: FolderName
    criterion: Criterion
    about: DigestText
    annotator: ShortText
    seed: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    instructions: str
    items: Annotated[tuple[SheetItem, ...], Field(max_length=bounds.MAX_CASES)]

    @property
    def labelled(self) -> int:
        """Return how many items have a label, undecided ones included."""
        return sum(item.label != UNLABELLED for item in self.items)


def about_digest(subject: LabelSubject, of: tuple[str, ...]) -> str:
    """Return what a sheet says of its subject: a digest of the subject and of the commitments that are adjudicated."""
    return digest_value({"subject": subject.plain(), "of": list(of)})


class LabelCommitment(StrictModel):
    """What the log says of labels before anybody else knows them.

    ``kind`` tells an annotator's own labels from an adjudication of several; ``of`` names the
    commitments that were adjudicated. ``claimed_level`` is the annotator's claim; what it counts for
    is the lesser of the claim and of what the log's order shows (T8).
    """

    name: FolderName
    kind: Literal["annotator", "adjudication"]
    of: tuple[FolderName, ...]
    supersedes: FolderName | None
    subject: LabelSubject
    annotator: ShortText
    claimed_level: LabelLevel
    blind: bool
    seed: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$")]
    count: Annotated[int, Field(ge=1, le=bounds.MAX_CASES)]
    root: DigestText


class SealedLabels(StrictModel):
    """Labels with their nonces: a private file until it is revealed, then a file of the log."""

    format: Literal["evalsite/labels-sealed/v1"]
    ledger: FolderName
    commitment: FolderName
    labels: Annotated[tuple[SaltedLabel, ...], Field(min_length=1, max_length=bounds.MAX_CASES)]

# SPDX-License-Identifier: Apache-2.0
"""A corpus folder and a campaign file to validated objects with fingerprints (R1, R2, R99).

Layout: ``corpora/<name>/corpus.yaml``, ``cards/<id in lower case>.yaml`` (graded protocol),
``labels/<name>.yaml``, ``campaigns/<name>.yaml``, ``design-lock.yaml``. Every error names file, line and field.

What this module leaves out: whether a corpus is any good, which `evalsite.corpus.lint` says, and
``policy.yaml``, which belongs to retention.
"""

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from evalsite.canonical.digest import digest_bytes, digest_value
from evalsite.corpus import crosscheck
from evalsite.corpus.files import SUFFIX, read_document, yaml_files
from evalsite.errors import InputError, shorten
from evalsite.schema.base import StrictModel
from evalsite.schema.calibration import DesignLock
from evalsite.schema.corpus import (
    BinaryCorpus,
    Card,
    Case,
    Corpus,
    CorpusSnapshot,
    EvidenceCorpus,
    GradedCase,
    GradedControl,
    GradedCorpus,
    LabelSet,
    PairwiseCorpus,
    controls_of,
)
from evalsite.schema.outcome import Protocol
from evalsite.schema.plan import CampaignSpec
from evalsite.yamltext import YamlDocument

CORPUS_FILE = "corpus.yaml"
LOCK_FILE = "design-lock.yaml"
_MODELS: dict[str, type[BinaryCorpus | EvidenceCorpus | GradedCorpus | PairwiseCorpus]] = {
    Protocol.BINARY: BinaryCorpus,
    Protocol.EVIDENCE: EvidenceCorpus,
    Protocol.GRADED: GradedCorpus,
    Protocol.PAIRWISE: PairwiseCorpus,
}
_Model = TypeVar("_Model", bound=StrictModel)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCorpus:
    """A valid corpus with everything that belongs to it.

    Args:
        folder: Where it was read; never part of a record.
        snapshot: Corpus and label sets as a run keeps them.
        fingerprint: SHA-256 of the snapshot's canonical bytes: any change of any field changes it.
        case_fingerprints: Per case id, the digest of the case and of the cards that it cites.
        documents: The parsed files by their name inside the folder, for places in messages.
        design_lock: The corpus's own constants of calibration gates; null where those of this software hold.
            They are frozen in a log, not in the snapshot: cases and labels do not depend on them.
    """

    folder: Path
    corpus: Corpus
    label_sets: tuple[LabelSet, ...]
    snapshot: CorpusSnapshot
    fingerprint: str
    case_fingerprints: Mapping[str, str]
    documents: Mapping[str, YamlDocument] = field(repr=False, compare=False)
    design_lock: DesignLock | None = None

    @property
    def files(self) -> tuple[str, ...]:
        """Return the names of the files that were read, relative to the folder, in reading order."""
        return tuple(self.documents)

    def place(self, file: str, field_path: str) -> str:
        """Return ``file:line`` of a field of one of the corpus's files."""
        return self.documents[file].place(field_path)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedCampaign:
    """A valid campaign over a valid corpus. ``digest`` is the SHA-256 of the file's bytes."""

    path: Path
    spec: CampaignSpec
    digest: str
    corpus_folder: Path
    corpus: LoadedCorpus
    document: YamlDocument = field(repr=False, compare=False)


def load_corpus(folder: Path) -> LoadedCorpus:
    """Return the corpus in ``folder``.

    Raises:
        InputError: Anything is missing, malformed, unknown, doubled or too large; the place is
            ``corpora/<name>/<file>:<line> <field>``.
    """
    folder = Path(os.path.normpath(folder.absolute()))
    shown = f"{folder.parent.name}/{folder.name}"
    if folder.is_symlink():
        raise InputError("expected a folder, got a symbolic link", at=shown, rule="no links in a corpus")
    if not folder.is_dir():
        raise InputError("expected a corpus folder, got none", at=shown, rule="corpus files")
    _, document = read_document(folder / CORPUS_FILE, name=f"{shown}/{CORPUS_FILE}")
    documents = {CORPUS_FILE: document}
    cards = _load_named(folder, "cards", Card, documents)
    label_sets = _load_named(folder, "labels", LabelSet, documents)
    corpus = _corpus(document, cards)
    if corpus.name != folder.name:
        message = f"expected the name of the folder, {shorten(folder.name)}, got {shorten(corpus.name)}"
        raise document.located(InputError(message, at="name", rule="corpus name"))
    crosscheck.check_cases(corpus, documents)
    crosscheck.check_labels(corpus, label_sets, documents)
    lock = _design_lock(folder, shown, corpus, documents)
    snapshot = CorpusSnapshot(format="evalsite/corpus-snapshot/v1", corpus=corpus, label_sets=label_sets)
    return LoadedCorpus(
        folder=folder,
        corpus=corpus,
        label_sets=label_sets,
        snapshot=snapshot,
        fingerprint=snapshot_fingerprint(snapshot),
        case_fingerprints=case_fingerprints(corpus),
        documents=documents,
        design_lock=lock,
    )


def control_fingerprints(corpus: Corpus) -> dict[str, str]:
    """Return one digest per control: over all that it says, and over the cards that it cites."""
    cards = {card.id: card.plain() for card in corpus.cards} if isinstance(corpus, GradedCorpus) else {}
    return {
        control.id: digest_value(
            {
                "control": control.plain(),
                "cards": [cards[card] for card in control.cards] if isinstance(control, GradedControl) else [],
            }
        )
        for control in controls_of(corpus)
    }


def snapshot_fingerprint(snapshot: CorpusSnapshot) -> str:
    """Return the fingerprint of a corpus with its label sets."""
    return digest_bytes(snapshot.to_bytes())


def case_fingerprints(corpus: Corpus) -> dict[str, str]:
    """Return the fingerprint of each case by id, in the order of the corpus.

    It covers the protocol, the case and the full cards that it cites; neither instructions (the
    roles' own digests) nor labels (the corpus fingerprint).
    """
    cards = {card.id: card for card in corpus.cards} if isinstance(corpus, GradedCorpus) else {}

    def fingerprint(case: Case) -> str:
        cited = [cards[card].plain() for card in case.cards] if isinstance(case, GradedCase) else []
        return digest_value(
            {"format": "evalsite/case/v1", "protocol": corpus.protocol.value, "case": case.plain(), "cards": cited}
        )

    return {case.id: fingerprint(case) for case in corpus.cases}


def load_campaign(path: Path) -> LoadedCampaign:
    """Return the campaign in ``path`` with the corpus that it stands in.

    Raises:
        InputError: The campaign or its corpus is not valid, the file does not stand under
            ``<corpus>/campaigns/``, or it names cases that the corpus does not have.
    """
    path = Path(os.path.normpath(path.absolute()))
    shown = "/".join(path.parts[-4:])
    if path.parent.name != "campaigns" or path.suffix != SUFFIX:
        raise InputError(
            f"expected a file corpora/<name>/campaigns/<campaign>{SUFFIX}, got {shorten(shown)}",
            at=shown,
            rule="campaign files",
        )
    data, document = read_document(path, name=shown)
    spec = _read(document, CampaignSpec)
    if spec.name != path.stem:
        message = f"expected the name of the file, {shorten(path.stem)}, got {shorten(spec.name)}"
        raise document.located(InputError(message, at="name", rule="campaign name"))
    corpus = load_corpus(path.parent.parent)
    crosscheck.check_campaign(spec, corpus.corpus, document)
    return LoadedCampaign(
        path=path,
        spec=spec,
        digest=digest_bytes(data),
        corpus_folder=corpus.folder,
        corpus=corpus,
        document=document,
    )


def campaign_files(folder: Path) -> list[Path]:
    """Return the campaign files of a corpus folder, by name.

    Raises:
        InputError: The folder ``campaigns`` holds something else.
    """
    return yaml_files(folder / "campaigns", name=f"{folder.parent.name}/{folder.name}/campaigns")


def _read(document: YamlDocument, model: type[_Model]) -> _Model:
    try:
        return model.from_value(document.value)
    except InputError as exc:
        raise document.located(exc) from exc


def _corpus(document: YamlDocument, cards: tuple[Card, ...]) -> Corpus:
    protocol = document.value.get("protocol")
    model = _MODELS.get(protocol) if isinstance(protocol, str) else None
    if model is None:
        expected = ", ".join(sorted(_MODELS))
        message = f"expected one of {expected}, got {shorten(protocol, 80)}"
        raise document.located(InputError(message, at="protocol", rule="schema: protocol"))
    if model is not GradedCorpus:
        if cards:
            message = f"expected no files under cards/ for the protocol {protocol}, got {len(cards)}"
            raise document.located(InputError(message, at="protocol", rule="corpus files"))
        return _read(document, model)
    if "cards" in document.value:
        message = f"expected the cards under cards/, got them in {CORPUS_FILE}"
        raise document.located(InputError(message, at="cards", rule="corpus files"))
    try:
        return GradedCorpus.from_value({**document.value, "cards": [card.plain() for card in cards]})
    except InputError as exc:
        raise document.located(exc) from exc


def _design_lock(folder: Path, shown: str, corpus: Corpus, documents: dict[str, YamlDocument]) -> DesignLock | None:
    path = folder / LOCK_FILE
    if not path.exists() and not path.is_symlink():
        return None
    _, document = read_document(path, name=f"{shown}/{LOCK_FILE}")
    documents[LOCK_FILE] = document
    lock = _read(document, DesignLock)
    crosscheck.check_lock(lock, corpus, document)
    return lock


def _load_named(folder: Path, part: str, model: type[_Model], documents: dict[str, YamlDocument]) -> tuple[_Model, ...]:
    """Load ``<part>/*.yaml``, each file named after the id or name that it holds."""
    shown = f"{folder.parent.name}/{folder.name}/{part}"
    loaded = []
    for path in yaml_files(folder / part, name=shown):
        _, document = read_document(path, name=f"{shown}/{path.name}")
        item = _read(document, model)
        key = "id" if isinstance(item, Card) else "name"
        identity = str(getattr(item, key))
        if path.stem != identity.lower():
            message = f"expected the file name {identity.lower()}{SUFFIX}, got {shorten(path.name, 80)}"
            raise document.located(InputError(message, at=key, rule="file names"))
        documents[f"{part}/{path.name}"] = document
        loaded.append(item)
    return tuple(loaded)

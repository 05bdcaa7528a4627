# SPDX-License-Identifier: Apache-2.0
"""Labels in a ledger of `support.ledgers`: constants, cards, commitments, reveals, and runs that name them."""

import hashlib
from pathlib import Path
from typing import Any

from support.ledgers import LATER, NOW, ZERO, close_run, reopen, run_trials, small_plan

from evalsite.ledger.labelbook import lock_digest
from evalsite.ledger.labelseal import labels_root, salt_labels
from evalsite.schema.calibration import CalibrationPlan, DesignLock
from evalsite.schema.labels import UNLABELLED, GivenLabel, LabelCommitment, LabelItem, LabelSheet, SealedLabels

CORPUS = "two-cases"
SNAPSHOT = b'{"corpus":"two cases"}'
ITEMS = tuple(LabelItem(case_id=case_id, repetition=None, dimension=None) for case_id in ("A", "B", "C"))


def lock(**changes: Any) -> DesignLock:
    """Return constants of a gate on evidence."""
    gate = {
        "criterion": "evidence",
        "false_pass_tolerance": "0.05",
        "false_fail_tolerance": "0.2",
        "max_unavailable": "0.1",
        "minimum_agreement": None,
    }
    value = {
        "format": "evalsite/design-lock/v1",
        "name": "default",
        "decision": "0015",
        "alpha": "0.05",
        "minimum_human_alpha": "0.667",
        "bins": [33, 66],
        "gated_dimensions": ["faithfulness", "groundedness"],
        "gates": [gate],
    }
    return DesignLock.from_value({**value, **changes})


def given(*values: int | None) -> tuple[GivenLabel, ...]:
    """Return labels of the first items, in order."""
    return tuple(GivenLabel(item=item, value=value, note=None) for item, value in zip(ITEMS, values, strict=False))


def sealed(name: str = "human-a", *values: int | None, ledger: str = "desk", reused: bool = False) -> SealedLabels:
    """Return private labels with fixed nonces, unlike for each name unless they are reused."""
    count = iter(range(1000))

    def nonce() -> bytes:
        return hashlib.sha256(f"nonce {name} {0 if reused else next(count)}".encode()).digest()

    labels = salt_labels(given(*(values or (1, 0, None))), nonce)
    return SealedLabels(format="evalsite/labels-sealed/v1", ledger=ledger, commitment=name, labels=labels)


def commitment(labels: SealedLabels, **changes: Any) -> LabelCommitment:
    """Return a blind annotator's commitment to labels, made with a sheet of its own."""
    value = {
        "name": labels.commitment,
        "kind": "annotator",
        "of": [],
        "supersedes": None,
        "subject": {
            "corpus": CORPUS,
            "corpus_fingerprint": ZERO,
            "run": None,
            "run_root": None,
            "criterion": "evidence",
            "construct_version": "1",
            "rubric_digest": ZERO,
        },
        "annotator": "annotator",
        "claimed_level": "human-blind-anchored",
        "blind": True,
        "seed": hashlib.sha256(labels.commitment.encode()).hexdigest()[:16],
        "count": len(labels.labels),
        "root": labels_root(labels.labels),
    }
    return LabelCommitment.from_value({**value, **changes})


def calibration(*names: str, split: str = "sealed", **changes: Any) -> CalibrationPlan:
    """Return the calibration part of a plan that names labels of `sealed`."""
    refs = [{"name": name, "root": labels_root(sealed(name).labels), "split": split} for name in names]
    return CalibrationPlan.from_value({"design_lock": lock().plain(), "commitments": refs, "gates": [], **changes})


def sheet_of(*texts: str, criterion: str = "evidence") -> LabelSheet:
    """Return a sheet with one item for each text."""
    items = [
        {"key": f"{number:016x}", "texts": [{"title": "Explanation", "text": text}], "label": UNLABELLED, "note": None}
        for number, text in enumerate(texts)
    ]
    value = {
        "format": "evalsite/label-sheet/v1",
        "corpus": "some-texts",
        "criterion": criterion,
        "about": f"sha256:{'0' * 64}",
        "annotator": "annotator",
        "seed": "0123456789abcdef",
        "instructions": "Give 1 when it holds.\nGive 0 when it does not.",
        "items": items,
    }
    return LabelSheet.from_value(value)


class Desk:
    """Writes label entries into a ledger without asking whether they may stand there."""

    def __init__(self, project: Path) -> None:
        self.project = project

    def log(self, entry_type: str, /, **body: Any) -> None:
        """Write and sign one entry, whatever a verification says of it."""
        with reopen(self.project) as writer:
            desk = writer.labels._desk
            desk.log.append(entry_type, body, now=NOW)
            desk.log.sign()

    def freeze(self, **changes: Any) -> None:
        """Log constants and cards."""
        self.log("constants.frozen", corpus=CORPUS, lock=lock(**changes).plain())
        self.log("cards.frozen", corpus=CORPUS, fingerprint=ZERO, run=None)

    def commit(self, name: str = "human-a", /, **changes: Any) -> None:
        """Log a commitment to the labels of `sealed`."""
        self.log("labels.committed", commitment=commitment(sealed(name), **changes).plain())

    def reveal(self, name: str = "human-a", labels: SealedLabels | None = None) -> None:
        """Log a reveal and write its file."""
        labels = labels or sealed(name)
        digest = f"sha256:{hashlib.sha256(labels.to_bytes()).hexdigest()}"
        self.log("labels.revealed", commitment=name, file=digest)
        folder = self.project / "runs" / "log" / "desk" / "labels"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.json").write_bytes(labels.to_bytes())

    def run(self, run_id: str, named: CalibrationPlan | None = None, *, close: bool = True) -> None:
        """Record a run whose plan names labels, and seal it."""
        with reopen(self.project) as writer:
            run = writer.create_run(run_id)
            plan = small_plan(run.put_blob(SNAPSHOT)).model_copy(update={"calibration": named})
            run.begin(plan, now=NOW)
            if close:
                run_trials(run, plan)
                close_run(run, plan)
                run.seal(now=LATER)

    def record(self, run_id: str, name: str = "human-a", **changes: Any) -> None:
        """Log a calibration of a run."""
        seal = {
            "criterion": "evidence",
            "labeled": 3,
            "judged": 3,
            "agreed": 3,
            "false_pass": 0,
            "false_fail": 0,
            "outcome": "INSUFFICIENT",
        }
        body = {"run": run_id, "commitment": name, "lock": lock_digest(lock()), "attempt": 1, "seal": seal}
        self.log("calibration.recorded", **{**body, **changes})

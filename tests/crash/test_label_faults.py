# SPDX-License-Identifier: Apache-2.0
"""The operating system refuses while labels are frozen, committed or revealed: nothing is lost, all can be repeated."""

import contextlib
import errno
import shutil

import pytest
from support.faults import failing
from support.labels import commitment, given, lock, sealed
from support.ledgers import LATER, LEDGER, NOW, keystore_of, reopen

from evalsite.campaign import labelling
from evalsite.errors import UndecidedError
from evalsite.ledger.labelseal import labels_root
from evalsite.ledger.labelstore import label_file, load_labels
from evalsite.ledger.verify import check_ledgers
from evalsite.schema.checks import Area
from evalsite.schema.corpus import LabelLevel

SUBJECT = commitment(sealed()).subject
CLAIM = labelling.Claim(
    name="human-a", annotator="annotator", level=LabelLevel.HUMAN_BLIND_ANCHORED, blind=True, seed="0" * 16
)


def go_on(project):
    """Do what is not done yet: freeze, commit, reveal."""
    keystore = keystore_of(project)
    with reopen(project) as writer:
        labelling.freeze(writer.labels, SUBJECT, lock(), now=NOW)
    with reopen(project) as writer:
        if "human-a" not in writer.labels.book.labels:
            labelled = labelling.Labelled(subject=SUBJECT, labels=given(1, 0, None))
            labelling.commit(writer.labels, keystore, labelled, CLAIM, now=NOW)
    with reopen(project) as writer:
        labelling.reveal(writer.labels, load_labels(keystore, LEDGER, "human-a"), now=LATER, unused=True)


@pytest.mark.parametrize(
    ("number", "for_good"),
    [(errno.ENOSPC, False), (errno.EIO, True)],
    ids=["no-space-once", "io-error-from-then-on"],
)
def test_labels_refused_at_any_call_of_the_system_can_be_finished(founded, tmp_path, number, for_good):
    moment, fired = 0, True
    while fired:
        shutil.copytree(founded.parent, tmp_path / "copy")
        project = tmp_path / "copy" / "project"
        with failing(moment, number, for_good=for_good) as fault, contextlib.suppress(UndecidedError):
            go_on(project)
        fired = fault.fired
        kept = label_file(keystore_of(project), LEDGER, "human-a")
        before = kept.read_bytes() if kept.exists() else None
        assert check_ledgers(project, pins={})[LEDGER].report.holds(Area.INTEGRITY), moment
        go_on(project)
        report = check_ledgers(project, pins={})[LEDGER].report
        assert all(report.holds(area) for area in Area), moment
        assert before in {None, kept.read_bytes()}, "labels that were kept are the ones that are committed"
        book = report.labels
        assert book is not None
        assert book.labels["human-a"].commitment.root == labels_root(
            load_labels(kept.parents[2], LEDGER, "human-a").labels
        )
        assert book.labels["human-a"].labels
        shutil.rmtree(tmp_path / "copy")
        moment += 1
    assert moment > 60

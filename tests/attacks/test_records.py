# SPDX-License-Identifier: Apache-2.0
"""Records swapped, dropped, doubled, inserted and rewritten: as they are, relinked, and signed anew with some key."""

import json
import shutil

import pytest
from support.ledgers import LEDGER, RUN, fixed_key, make_ledger, make_sealed_run
from support.trees import LOG_TREE, RUN_TREE, relink, rewrite, sign_tree
from support.verdicts import ENTRIES, EVENTS, codes, places, refused

from evalsite.canonical.jcs import canonical_bytes
from evalsite.ledger.authentic import checks_hold
from evalsite.ledger.dsse import parse_envelope
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.checks import Area, Check

CHANGES = {
    "swapped": lambda lines: [lines[0], lines[2], lines[1], *lines[3:]],
    "dropped-in-the-middle": lambda lines: [*lines[:2], *lines[3:]],
    "dropped-at-the-end": lambda lines: lines[:-1],
    "dropped-at-the-beginning": lambda lines: lines[1:],
    "doubled": lambda lines: [*lines[:2], lines[1], *lines[2:]],
    "doubled-at-the-end": lambda lines: [*lines, lines[-1]],
    "inserted": lambda lines: [*lines[:3], lines[1], *lines[3:]],
    "reversed": lambda lines: lines[::-1],
}


def not_whole(project):
    """Verify a run whose integrity or completeness must not hold, and return the report.

    Whole lines behind a log's newest note are what a crash leaves: incomplete, and no fact rests on them.
    """
    report = verify_run(project, RUN, pins={})
    assert not (report.holds(Area.INTEGRITY) and report.holds(Area.COMPLETENESS))
    return report


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("tree", [RUN_TREE, LOG_TREE], ids=["run", "log"])
class TestChangedRecords:
    """In a run and in a log alike."""

    def test_as_they_are(self, project, tree, change):
        rewrite(project, CHANGES[change], tree=tree, linked=False)
        assert f"{tree[0]}/{tree[1]}/000.jsonl" in places(not_whole(project))

    def test_relinked(self, project, tree, change):
        """A chain that fits shows nothing; the signed root does."""
        rewrite(project, CHANGES[change], tree=tree)
        assert codes(not_whole(project)) & {"lines.root", "lines.short", "lines.entry", "run.tail", "log.tail"}

    def test_relinked_and_signed_with_another_valid_key(self, project, tree, change):
        rewrite(project, CHANGES[change], tree=tree, signer=Signer.generate())
        report = refused(project)
        assert "checkpoint.note" in codes(report)
        assert "known key" in " ".join(item.message for check in report.checks for item in check.findings)

    def test_relinked_and_signed_with_a_key_of_another_role(self, project, tree, change):
        rewrite(project, CHANGES[change], tree=tree, signer=fixed_key("runner"))
        assert "checkpoint.note" in codes(refused(project))

    def test_relinked_and_signed_with_the_log_key_itself(self, project, tree, change):
        """An insider: order, log, statement and proofs still have to agree with each other.

        A log without its last entry, signed anew, is the log of a moment ago: a rollback, told by the run's
        own statement and proof here, and by a head that the verifier held where the run was taken away too.
        """
        rewrite(project, CHANGES[change], tree=tree, signer=fixed_key("log"))
        not_whole(project)


def spliced(lines, **changes):
    """Lines of which the last one says something else about its own place."""
    return [*lines[:-1], canonical_bytes({**json.loads(lines[-1]), **changes})]


@pytest.mark.parametrize("tree", [RUN_TREE, LOG_TREE], ids=["run", "log"])
class TestPlacesUnderTrueSignatures:
    """The log key signs what is there; the chain does not have to be what the tree is over."""

    @pytest.mark.parametrize("seq", [0, 1, 99])
    def test_a_line_that_says_it_stands_elsewhere(self, project, tree, seq):
        rewrite(project, lambda lines: spliced(lines, seq=seq), tree=tree, linked=False, signer=fixed_key("log"))
        assert "lines.seq" in codes(refused(project))

    @pytest.mark.parametrize("prev", [None, "sha256:" + "0" * 64])
    def test_a_line_that_names_another_line_as_the_one_before(self, project, tree, prev):
        rewrite(project, lambda lines: spliced(lines, prev=prev), tree=tree, linked=False, signer=fixed_key("log"))
        assert "lines.prev" in codes(refused(project))


class TestKnownClassesOfAttack:
    """The classes (a) to (e) that published verifiers of chained records fall to."""

    def test_a_nothing_at_all_verifies_nowhere(self, project, tmp_path):
        """Class (a): an empty list, an empty file, an empty folder."""
        empty = verify_project(tmp_path / "empty", pins={})
        assert not any(empty.holds(area) for area in (Area.INTEGRITY, Area.COMPLETENESS))
        (project / EVENTS).write_bytes(b"")
        refused(project)
        shutil.rmtree(project / "runs" / RUN)
        (project / "runs" / RUN).mkdir()
        refused(project)

    def test_a_no_check_that_looked_at_nothing_holds(self, project):
        """Class (a): each integrity check of each report counts something."""
        for check in verify_project(project, pins={}).all_checks():
            assert check.checked > 0, check.name

    def test_a_a_check_that_looked_at_nothing_has_not_held_nor_has_a_list_of_none(self):
        """Class (a): nothing found in nothing is no success, in no area."""
        for area in Area:
            empty = Check(step=1, name="nothing to look at", area=area, checked=0, findings=())
            one = Check(step=2, name="one thing", area=area, checked=1, findings=())
            assert not empty.holds
            assert one.holds
            assert checks_hold([one], area)
            assert not checks_hold([one, empty], area)
            assert not checks_hold([], area)

    def test_b_a_cut_tail(self, project):
        """Class (b): at every record, with every signature behind it gone and the newest remaining in its place."""
        lines = (project / EVENTS).read_bytes().splitlines(keepends=True)
        for kept in range(len(lines)):
            (project / EVENTS).write_bytes(b"".join(lines[:kept]))
            refused(project)

    def test_b_a_cut_tail_with_its_signatures_cut_as_well(self, project):
        """Class (b): the run looks open then, but its log holds the close."""
        folder = project / "runs" / RUN
        for name in ("checkpoints/5.note", "statement.dsse.json", "proofs/run-closed.tlog-proof"):
            (folder / name).unlink()
        shutil.copy(folder / "checkpoints" / "1.note", folder / "checkpoint")
        (project / EVENTS).write_bytes((project / EVENTS).read_bytes().splitlines(keepends=True)[0])
        assert "run.closed-entry" in codes(refused(project))

    @pytest.mark.parametrize("what", ["signature lines", "notes", "notes and statement", "everything signed"])
    def test_c_every_signature_stripped_content_forged_and_relinked(self, project, what):
        """Class (c): absence of a signature is a failure, never a record that needs none."""
        folder = project / "runs" / RUN
        rewrite(project, lambda lines: [line.replace(b'"action":"assist"', b'"action":"refuse"') for line in lines])
        notes = [folder / "checkpoint", *(folder / "checkpoints").iterdir()]
        for path in notes:
            if what == "signature lines":
                path.write_bytes(path.read_bytes().partition("\u2014".encode())[0])
            else:
                path.unlink()
        if what in {"notes and statement", "everything signed"}:
            (folder / "statement.dsse.json").unlink()
        if what == "everything signed":
            shutil.rmtree(folder / "proofs")
        assert verify_run(project, RUN, pins={}).run is None
        assert verify_project(project, pins={}).authentic() == {}
        refused(project)

    def test_c_a_statement_with_an_empty_list_of_signatures(self, project):
        path = project / "runs" / RUN / "statement.dsse.json"
        path.write_bytes(canonical_bytes({**json.loads(path.read_bytes()), "signatures": []}) + b"\n")
        assert codes(refused(project)) == {"statement"}

    @pytest.mark.parametrize("name", [EVENTS, ENTRIES])
    def test_d_a_duplicate_key_in_any_record(self, project, name):
        """Class (d): in each line, the same key again, even with the same value, and signed as if it were right."""
        data = (project / name).read_bytes()
        lines = data.splitlines(keepends=True)
        tree = RUN_TREE if name == EVENTS else LOG_TREE
        for index, line in enumerate(lines):
            again = b"{" + b'"type":"x",' + line[1:]
            (project / name).write_bytes(b"".join([*lines[:index], again, *lines[index + 1 :]]))
            notes = project / tree[0] / "checkpoints"
            kept = {path: path.read_bytes() for path in [*notes.iterdir(), project / tree[0] / "checkpoint"]}
            sign_tree(project, tree)
            assert "lines.entry" in codes(refused(project)), index
            shutil.rmtree(notes)
            notes.mkdir()
            for path, note in kept.items():
                path.write_bytes(note)
        (project / name).write_bytes(data)
        assert verify_run(project, RUN, pins={}).run is not None

    @pytest.mark.parametrize(
        "spelling",
        [
            lambda value: json.dumps(value).encode(),
            lambda value: json.dumps(value, separators=(",", ":")).encode() + b" ",
            lambda value: json.dumps(dict(reversed(value.items())), separators=(",", ":")).encode(),
            lambda value: canonical_bytes(value).replace(b'"seq":0', b'"seq":0.0'),
            lambda value: canonical_bytes(value).replace(b'"seq":0', b'"seq":-0'),
            lambda value: canonical_bytes(value).replace(b'"seq":0', b'"seq":0e0'),
            lambda value: canonical_bytes(value).replace(b'"run-1"', b'"\\u0072un-1"'),
        ],
    )
    def test_e_another_spelling_of_the_same_value_has_another_hash(self, project, spelling):
        """Class (e): the stored bytes are hashed; whatever they would canonicalise to counts for nothing."""
        lines = (project / EVENTS).read_bytes().splitlines()
        other = spelling(json.loads(lines[0]))
        assert other != lines[0]
        (project / EVENTS).write_bytes(b"".join(line + b"\n" for line in [other, *lines[1:]]))
        assert codes(refused(project)) & {"lines.root", "lines.entry"}


class TestForeignBytesInLines:
    """A strict reader stands before the schema, also when the log key signs what it would refuse."""

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            (b'"wall_ms":3', b'"wall_ms":NaN'),
            (b'"wall_ms":3', b'"wall_ms":Infinity'),
            (b'"wall_ms":3', b'"wall_ms":1e400'),
            (b'"wall_ms":3', b'"wall_ms":3.0'),
            (b'"wall_ms":3', b'"wall_ms":9007199254740993'),
            (b'"wall_ms":3', b'"wall_ms":' + b"9" * 5000),
            (b'"wall_ms":3', b'"wall_ms":"3"'),
            (b'"wall_ms":3', b'"wall_ms":true'),
            (b'"wall_ms":3', b'"wall_ms":' + b"[" * 5000 + b"]" * 5000),
            (b'"reply_format":"text"', b'"reply_format":"te\xffxt"'),
            (b'"reply_format":"text"', b'"reply_format":"\xed\xa0\x80"'),
            (b'"done_reason":null', b'"done_reason":"\\ud800"'),
            (b'"done_reason":null', b'"done_reason":"\\udc00\\ud800"'),
            (b'"done_reason":null', b'"done_reason":null,"done_reason":null'),
            (b'"done_reason":null', b'"done_reason":null,"extra":null'),
            (b'"done_reason":null', b'"done_reason":undefined'),
            (b'{"call":', b'\xef\xbb\xbf{"call":'),
            (b'{"call":', b'\x00{"call":'),
            (b'"done_reason":null', b'"done_reason":"' + b"x" * 1024 * 1024 + b'"'),
        ],
    )
    def test_a_line_that_is_no_strict_json_of_its_schema(self, project, old, new):
        lines = (project / EVENTS).read_bytes().splitlines()
        index = next(number for number, line in enumerate(lines) if old in line)
        lines[index] = lines[index].replace(old, new, 1)
        (project / EVENTS).write_bytes(b"".join(line + b"\n" for line in lines))
        sign_tree(project)
        report = refused(project)
        assert "lines.entry" in codes(report)
        assert EVENTS in places(report)
        message = next(item.message for check in report.checks for item in check.findings if item.code == "lines.entry")
        assert len(message) < 1000  # what is wrong is told, not repeated

    def test_a_segment_longer_than_any_may_be(self, project):
        """A sparse file of 64 GiB is refused by its size, before a byte is read."""
        with (project / EVENTS).open("r+b") as file:
            file.truncate(64 * 1024**3)
        assert EVENTS in places(refused(project))

    @pytest.mark.parametrize(
        "name", ["checkpoint", "checkpoints/5.note", "statement.dsse.json", "proofs/run-opened.tlog-proof", "blobs"]
    )
    def test_any_other_file_longer_than_any_may_be(self, project, name):
        path = project / "runs" / RUN / name
        if path.is_dir():
            path = min(found for found in path.rglob("*") if found.is_file())
        with path.open("r+b") as file:
            file.truncate(64 * 1024**3)
        assert path.relative_to(project).as_posix() in places(refused(project))


class TestTransplants:
    """Genuine parts in wrong places."""

    @pytest.fixture
    def two_runs(self, project):
        make_sealed_run(project, "run-2", repetitions=2)
        return project

    @pytest.mark.parametrize(
        "name",
        [
            "statement.dsse.json",
            "checkpoint",
            "checkpoints/1.note",
            "events/000.jsonl",
            "proofs/run-opened.tlog-proof",
            "proofs/run-closed.tlog-proof",
        ],
    )
    def test_a_genuine_file_of_another_run(self, two_runs, name):
        shutil.copy(two_runs / "runs" / "run-2" / name, two_runs / "runs" / RUN / name)
        assert f"runs/{RUN}/{name}" in places(refused(two_runs))

    def test_a_run_under_another_name(self, project):
        (project / "runs" / RUN).rename(project / "runs" / "better-name")
        refused(project, "better-name")
        report = verify_project(project, pins={})
        assert "project.run-missing" in {finding.code for finding in report.findings()}

    def test_two_runs_under_each_others_names(self, two_runs):
        runs = two_runs / "runs"
        (runs / RUN).rename(runs / "aside")
        (runs / "run-2").rename(runs / RUN)
        (runs / "aside").rename(runs / "run-2")
        refused(two_runs, RUN)
        refused(two_runs, "run-2")

    def test_a_run_under_the_log_of_another_ledger(self, project, tmp_path):
        """The same keys even: the origin names the ledger."""
        elsewhere = tmp_path / "elsewhere" / "project"
        elsewhere.parent.mkdir()
        make_ledger(elsewhere, "other")
        shutil.copytree(project / "runs" / RUN, elsewhere / "runs" / RUN)
        assert codes(refused(elsewhere)) == {"run.ledger"}
        rewrite(
            elsewhere,
            lambda lines: [lines[0].replace(f'"ledger":"{LEDGER}"'.encode(), b'"ledger":"other"'), *lines[1:]],
        )
        assert codes(refused(elsewhere)) >= {"checkpoint.note"}

    def test_a_blob_in_the_place_of_another_valid_blob(self, project):
        blobs = sorted(path for path in (project / "runs" / RUN / "blobs").rglob("*") if path.is_file())
        data = [path.read_bytes() for path in blobs]
        for path, other in zip(blobs, data[1:] + data[:1], strict=True):
            path.write_bytes(other)
        assert places(refused(project)) == {path.relative_to(project).as_posix() for path in blobs}

    def test_a_blob_with_another_salt_over_the_same_bytes(self, project):
        blob = min(path for path in (project / "runs" / RUN / "blobs").rglob("*") if path.is_file())
        data = blob.read_bytes()
        blob.write_bytes(data.replace(data[17:81], b"0" * 64))
        assert places(refused(project)) == {blob.relative_to(project).as_posix()}

    def test_a_keyring_and_a_log_of_another_ledger(self, project, tmp_path):
        elsewhere = tmp_path / "elsewhere" / "project"
        elsewhere.parent.mkdir()
        make_ledger(elsewhere, make_key=lambda role: fixed_key(f"another {role}"))
        for folder in ("trust", "log"):
            shutil.copytree(project / "runs" / folder / LEDGER, tmp_path / folder)
            shutil.rmtree(project / "runs" / folder / LEDGER)
            shutil.copytree(elsewhere / "runs" / folder / LEDGER, project / "runs" / folder / LEDGER)
            refused(project)
            shutil.rmtree(project / "runs" / folder / LEDGER)
            shutil.copytree(tmp_path / folder, project / "runs" / folder / LEDGER)
        assert verify_run(project, RUN, pins={}).run is not None


class TestLogsThatLie:
    """Entries that the log key signed and that cannot be true."""

    def test_an_entry_for_a_run_that_was_never_opened(self, project):
        def closed_only(lines):
            ghost = {**json.loads(lines[3]), "run": "ghost"}
            return [*lines, canonical_bytes(ghost)]

        rewrite(project, closed_only, tree=LOG_TREE, signer=fixed_key("log"))
        assert "log.entry" in codes(refused(project))

    def test_an_opening_of_a_run_that_is_nowhere(self, project):
        def opened(lines):
            return [*lines, canonical_bytes({**json.loads(lines[2]), "run": "ghost"})]

        rewrite(project, opened, tree=LOG_TREE, signer=fixed_key("log"))
        report = verify_project(project, pins={})
        assert ("project.run-missing", "runs/ghost") in {(item.code, item.at) for item in report.findings()}
        assert not report.holds(Area.INTEGRITY)

    def test_a_run_closed_before_it_was_opened(self, project):
        rewrite(
            project,
            lambda lines: [*lines[:2], lines[3], lines[2]],
            tree=LOG_TREE,
            signer=fixed_key("log"),
        )
        assert "log.entry" in codes(refused(project))

    def test_a_plan_altered_after_the_opening(self, project):
        """In the run, relinked and signed by the log key: the log's own entry holds the plan's digest and leaf."""
        rewrite(
            project,
            lambda lines: [lines[0].replace(b"A fixture campaign", b"A kinder campaign!", 1), *lines[1:]],
            signer=fixed_key("log"),
        )
        assert "run.opened-entry" in codes(refused(project))

    def test_a_plan_altered_in_run_and_log_alike(self, project):
        """With the log key both fit; the runner's statement still names the other plan."""
        rewrite(
            project,
            lambda lines: [lines[0].replace(b"A fixture campaign", b"A kinder campaign!", 1), *lines[1:]],
            signer=fixed_key("log"),
        )
        assert "statement" in codes(refused(project))
        payload = parse_envelope((project / "runs" / RUN / "statement.dsse.json").read_bytes()).payload
        assert b"planDigest" in payload

    def test_relinking_changes_nothing_where_nothing_changed(self, project):
        """The forger's tools of these tests write the very same bytes for the true record."""
        data = (project / EVENTS).read_bytes()
        assert relink(data.splitlines()) == data
        before = (project / "runs" / RUN / "checkpoint").read_bytes()
        sign_tree(project)
        assert (project / "runs" / RUN / "checkpoint").read_bytes() == before
        assert verify_run(project, RUN, pins={}).run is not None

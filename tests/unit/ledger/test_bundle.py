# SPDX-License-Identifier: Apache-2.0
"""Bundles: deterministic archives, unpacking of what nobody needs to trust, the sums, single cases."""

import gzip
import hashlib
import io
import tarfile

import pytest
from support.bundles import audit_bundle, case_bundle, example_project
from support.ledgers import LEDGER, fixed_key

from evalsite.campaign.bundles import inspect_bundle
from evalsite.errors import InputError
from evalsite.ledger.bundle import SUMS, check_files, pack, read_manifest, unpack
from evalsite.ledger.disclosure import line_name, line_proof_name
from evalsite.ledger.merkle import inclusion_proof, leaf_hash
from evalsite.ledger.tlogproof import TlogProof
from evalsite.schema.checks import Area, Level


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    return example_project(tmp_path_factory.mktemp("example"))


@pytest.fixture
def audit(project, tmp_path):
    audit_bundle(project, tmp_path / "audit")
    return tmp_path / "audit"


@pytest.fixture
def case(project, tmp_path):
    case_bundle(project, tmp_path / "case")
    return tmp_path / "case"


def findings(state):
    return {item.code for check in state.checks for item in check.findings}


def refresh_sums(folder):
    """Write SHA256SUMS anew, as anybody can who changed a file."""
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    lines = [f"{hashlib.sha256((folder / name).read_bytes()).hexdigest()}  {name}\n" for name in names if name != SUMS]
    (folder / SUMS).write_text("".join(lines), encoding="utf-8")


def test_the_same_bundle_gives_the_same_archive(project, tmp_path):
    for name in ("one", "two"):
        manifest = audit_bundle(project, tmp_path / name)
        pack(tmp_path / name, tmp_path / f"{name}.tar.gz", manifest)
    first, second = ((tmp_path / f"{name}.tar.gz").read_bytes() for name in ("one", "two"))
    assert first == second
    with tarfile.open(tmp_path / "one.tar.gz") as archive:
        members = archive.getmembers()
    assert {(item.mtime, item.uid, item.gid, item.uname, item.mode, item.isreg()) for item in members} == {
        (0, 0, 0, "", 0o644, True)
    }
    assert [item.name for item in members[:-1]] == sorted(item.name for item in members[:-1])


@pytest.mark.parametrize("kind", ["audit", "case"])
def test_an_archive_unpacks_to_the_bundle_and_verifies(kind, project, tmp_path):
    made = {"audit": audit_bundle, "case": case_bundle}[kind](project, tmp_path / "made")
    pack(tmp_path / "made", tmp_path / "made.tar.gz", made)
    (tmp_path / "out").mkdir()
    folder = unpack(tmp_path / "made.tar.gz", tmp_path / "out")
    state = inspect_bundle(folder, pins={LEDGER: fixed_key("root").key_id})
    assert {check.area for check in state.checks} == set(Area)
    if kind == "audit":  # the example's bytes hold; that its corpus is none is for the facts to say
        assert findings(state) == {"corpus-snapshot"}
    else:
        assert all(check.holds for check in state.checks), findings(state)
        assert state.level is Level.A1


def archive_of(path, *members):
    """Write a tar.gz with these members: name, bytes or None, and what else a header says."""
    with tarfile.open(path, "w:gz", format=tarfile.PAX_FORMAT) as archive:
        for name, data, changes in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            for key, value in changes.items():
                setattr(info, key, value)
            archive.addfile(info, io.BytesIO(data))
    return path


HOSTILE = {
    "a name that climbs out": [("top/../../out", b"x", {})],
    "an absolute name": [("/top/out", b"x", {})],
    "a name outside the one folder": [("out", b"x", {})],
    "two top folders": [("top/a", b"x", {}), ("other/a", b"x", {})],
    "a symbolic link": [("top/a", b"", {"type": tarfile.SYMTYPE, "linkname": "/etc/hostname"})],
    "a hard link": [("top/a", b"x", {}), ("top/b", b"", {"type": tarfile.LNKTYPE, "linkname": "top/a"})],
    "a pipe": [("top/a", b"", {"type": tarfile.FIFOTYPE})],
    "a device": [("top/a", b"", {"type": tarfile.CHRTYPE})],
    "a folder entry": [("top/a", b"", {"type": tarfile.DIRTYPE})],
    "a name twice": [("top/a", b"x", {}), ("top/a", b"y", {})],
    "names that differ in case only": [("top/a", b"x", {}), ("top/A", b"y", {})],
    "an extended header": [("top/" + "a" * 60 + "/" + "b" * 120, b"x", {})],
    "an empty part": [("top//a", b"x", {})],
    "a hidden name": [("top/.evalsite-tmp-1", b"x", {})],
    "a name with a line break": [("top/a\nb", b"x", {})],
    "no file at all": [],
    "a file that is a folder too": [("top/a", b"x", {}), ("top/a/b", b"y", {})],
    "too deep": [("top/" + "a/" * 20 + "b", b"x", {})],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_archive_is_refused_and_nothing_stands_outside(what, tmp_path):
    archive = archive_of(tmp_path / "x.tar.gz", *HOSTILE[what])
    out = tmp_path / "deep" / "out"
    out.mkdir(parents=True)
    with pytest.raises(InputError):
        unpack(archive, out)
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert not any(path.is_symlink() for path in out.rglob("*"))


def test_a_bomb_is_refused_before_it_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr("evalsite.ledger.bundle.MAX_ARCHIVE_BYTES", 1000)
    archive = archive_of(tmp_path / "x.tar.gz", ("top/a", b"\0" * 1001, {}))
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError, match="bounds"):
        unpack(archive, tmp_path / "out")
    assert not any((tmp_path / "out").iterdir())


@pytest.mark.parametrize("data", [b"", b"no gzip", gzip.compress(b"no tar" * 200)], ids=["empty", "text", "no tar"])
def test_what_is_no_archive_is_refused(data, tmp_path):
    (tmp_path / "x.tar.gz").write_bytes(data)
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError):
        unpack(tmp_path / "x.tar.gz", tmp_path / "out")


def test_an_archive_that_is_cut_anywhere_is_refused(project, tmp_path):
    manifest = case_bundle(project, tmp_path / "case")
    pack(tmp_path / "case", tmp_path / "whole.tar.gz", manifest)
    data = (tmp_path / "whole.tar.gz").read_bytes()
    for number, size in enumerate([*range(0, len(data), 97), len(data) - 1]):
        (tmp_path / "x.tar.gz").write_bytes(data[:size])
        (tmp_path / str(number)).mkdir()
        with pytest.raises(InputError):
            unpack(tmp_path / "x.tar.gz", tmp_path / str(number))


def test_what_stands_behind_the_end_is_refused(project, tmp_path):
    manifest = case_bundle(project, tmp_path / "case")
    pack(tmp_path / "case", tmp_path / "whole.tar.gz", manifest)
    plain = gzip.decompress((tmp_path / "whole.tar.gz").read_bytes())
    for number, more in enumerate((b"more", b"\0" * (1 << 21))):
        (tmp_path / "x.tar.gz").write_bytes(gzip.compress(plain + more))
        (tmp_path / str(number)).mkdir()
        with pytest.raises(InputError, match="behind"):
            unpack(tmp_path / "x.tar.gz", tmp_path / str(number))


def test_a_damaged_checksum_of_the_archive_is_refused(project, tmp_path):
    manifest = case_bundle(project, tmp_path / "case")
    pack(tmp_path / "case", tmp_path / "whole.tar.gz", manifest)
    data = bytearray((tmp_path / "whole.tar.gz").read_bytes())
    data[-6] ^= 1
    (tmp_path / "whole.tar.gz").write_bytes(bytes(data))
    (tmp_path / "out").mkdir()
    with pytest.raises(InputError):
        unpack(tmp_path / "whole.tar.gz", tmp_path / "out")


def test_an_archive_is_new(project, tmp_path):
    manifest = case_bundle(project, tmp_path / "case")
    (tmp_path / "there.tar.gz").write_bytes(b"")
    with pytest.raises(InputError, match="new archive"):
        pack(tmp_path / "case", tmp_path / "there.tar.gz", manifest)


def test_sums_find_what_changed_went_or_came(audit):
    assert check_files(audit).holds
    page = audit / "VERIFY.md"
    text = page.read_bytes()
    page.write_bytes(text + b"!")
    (audit / "more").write_bytes(b"")
    (audit / "statement.json").unlink()
    assert sorted(item.at for item in check_files(audit).findings) == ["VERIFY.md", "more", "statement.json"]


def test_a_bundle_names_the_run_and_the_ledger_that_it_holds(audit):
    (audit / "runs" / "trust" / "other").mkdir()
    assert "bundle.layout" in findings(inspect_bundle(audit, pins={}))


@pytest.mark.parametrize(
    ("name", "data"),
    [("evalsite-bundle.json", b"{}"), ("evalsite-bundle.json", b'{"format":"evalsite/bundle/v2"}')],
)
def test_another_manifest_is_refused(name, data, audit):
    (audit / name).write_bytes(data)
    with pytest.raises(InputError):
        read_manifest(audit)


def test_a_manifest_cannot_lead_out_of_the_bundle(audit):
    path = audit / "evalsite-bundle.json"
    path.write_bytes(path.read_bytes().replace(b'"run":"run-1"', b'"run":"../run-1"'))
    refresh_sums(audit)
    with pytest.raises(InputError):
        inspect_bundle(audit, pins={})


def test_a_case_is_disclosed_with_its_lines_only(case):
    manifest = read_manifest(case)
    assert manifest.lines == (1, 2, 3)
    assert sorted(path.name for path in (case / "lines").iterdir()) == ["1.json", "2.json", "3.json"]
    assert len(list((case / "blobs").glob("*/*"))) == 2  # request and reply, and not the corpus


def test_a_changed_line_is_found_though_the_sums_were_written_anew(case):
    path = case / line_name(3)
    path.write_bytes(path.read_bytes().replace(b'"status":"Passed"', b'"status":"Failed"'))
    refresh_sums(case)
    assert "case.line" in findings(inspect_bundle(case, pins={}))


def test_a_proof_of_another_line_is_no_proof_of_this_one(case):
    one, two = case / line_proof_name(1), case / line_proof_name(2)
    first, second = one.read_bytes(), two.read_bytes()
    one.write_bytes(second)
    two.write_bytes(first)
    refresh_sums(case)
    assert "case.line" in findings(inspect_bundle(case, pins={}))


def test_lines_of_another_case_are_not_of_this_one(case):
    path = case / "evalsite-bundle.json"
    path.write_bytes(path.read_bytes().replace(b'"case_id":"A"', b'"case_id":"B"'))
    refresh_sums(case)
    assert "case.line" in findings(inspect_bundle(case, pins={}))


def test_a_case_without_lines_shows_nothing(case):
    path = case / "evalsite-bundle.json"
    path.write_bytes(path.read_bytes().replace(b'"lines":[1,2,3]', b'"lines":[]'))
    refresh_sums(case)
    state = inspect_bundle(case, pins={})
    assert not all(check.holds for check in state.checks)


def test_a_checkpoint_by_another_key_is_refused(case):
    path = case / "checkpoint"
    text, _, signature = path.read_bytes().rpartition(b" ")
    path.write_bytes(text + b" " + signature[:10] + (b"A" if signature[10:11] != b"A" else b"B") + signature[11:])
    refresh_sums(case)
    assert {"case.checkpoint"} <= findings(inspect_bundle(case, pins={}))


def test_another_root_key_than_the_pinned_one_is_refused(case):
    assert "keyring.pin" in findings(inspect_bundle(case, pins={LEDGER: "sha256:" + "0" * 64}))


def test_an_entry_of_the_log_must_be_proved(case):
    path = case / "log" / "3.json"
    path.write_bytes(path.read_bytes().replace(b'"size":5', b'"size":4'))
    refresh_sums(case)
    assert "case.log" in findings(inspect_bundle(case, pins={}))


def test_a_missing_blob_is_a_matter_of_availability(case):
    next(iter((case / "blobs").glob("*/*"))).unlink()
    refresh_sums(case)
    state = inspect_bundle(case, pins={})
    assert {check.area for check in state.checks if not check.holds} == {Area.AVAILABILITY}


def test_a_changed_blob_is_found(case):
    path = next(iter((case / "blobs").glob("*/*")))
    path.write_bytes(path.read_bytes() + b" ")
    refresh_sums(case)
    assert "blob.digest" in findings(inspect_bundle(case, pins={}))


def test_a_trial_that_did_not_end_is_incomplete(case):
    path = case / "evalsite-bundle.json"
    path.write_bytes(path.read_bytes().replace(b'"lines":[1,2,3]', b'"lines":[1,2]'))
    refresh_sums(case)
    state = inspect_bundle(case, pins={})
    assert "case.open" in findings(state)


def test_a_broken_keyring_ends_the_check(case):
    path = case / "runs" / "trust" / LEDGER / "keyring" / "001.dsse.json"
    path.write_bytes(path.read_bytes() + b" ")
    refresh_sums(case)
    state = inspect_bundle(case, pins={})
    assert findings(state) == {"keyring"}
    assert (state.level, len(state.checks)) == (Level.A0, 2)


def test_an_entry_has_the_name_and_the_proof_of_its_place(case):
    (case / "log" / "3.json").rename(case / "log" / "03.json")
    refresh_sums(case)
    assert "case.log" in findings(inspect_bundle(case, pins={}))
    (case / "log" / "03.json").rename(case / "log" / "3.json")
    (case / "log" / "3.tlog-proof").write_bytes((case / "log" / "2.tlog-proof").read_bytes())
    refresh_sums(case)
    assert "case.log" in findings(inspect_bundle(case, pins={}))


def test_entries_about_other_things_are_none_about_this_run(case, project):
    """The ledger's first entry, with a genuine proof: it is of this log, and not about the run."""
    lines = (project / "runs" / "log" / LEDGER / "entries" / "000.jsonl").read_bytes().split(b"\n")[:-1]
    note = (project / "runs" / "log" / LEDGER / "checkpoint").read_bytes()
    proof = TlogProof(0, inclusion_proof([leaf_hash(line) for line in lines], 0), note)
    (case / "log" / "0.json").write_bytes(lines[0])
    (case / "log" / "0.tlog-proof").write_bytes(proof.to_bytes())
    refresh_sums(case)
    assert "case.log" in findings(inspect_bundle(case, pins={}))


def test_without_the_entry_that_closes_the_run_it_is_not_complete(case):
    (case / "log" / "3.json").unlink()
    (case / "log" / "3.tlog-proof").unlink()
    refresh_sums(case)
    assert findings(inspect_bundle(case, pins={})) == {"case.unsealed"}

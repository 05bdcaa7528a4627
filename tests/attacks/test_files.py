# SPDX-License-Identifier: Apache-2.0
"""What stands in the folders of a record instead of plain files with plain names, and what git does to them."""

import json
import os
import shutil
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from support.ledgers import LATER, LEDGER, NOW, RUN, begin_run, finish_run, make_ledger, make_sealed_run, reopen
from support.verdicts import ENTRIES, EVENTS, codes, places, refused

from evalsite.errors import EvalsiteError, InputError, IntegrityError
from evalsite.ledger.verify import verify_project, verify_run
from evalsite.schema.checks import Area
from evalsite.storage import TEMPORARY, Appender, create_same, lock, read_regular, replace, shown, sweep

RUN_FOLDER = f"runs/{RUN}"
FOLDERS = (RUN_FOLDER, f"runs/log/{LEDGER}", f"runs/trust/{LEDGER}")
ODD_NAMES = [
    b"..hidden",
    b"...",
    b"a b",
    b"a\nstep 1: everything holds",
    b"\x1b[2Jcleared",
    b"\xff\xfe",
    b"caf\xc3\xa9",
    b"\xe2\x80\xaegnp.exe",
    b"-rf",
    b"~",
    b"%00",
    b"a\\b",
    b"x" * 200,
]


def odd(folder, name):
    return Path(os.fsdecode(os.fsencode(folder) + b"/" + name))


def files_under(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())


def make_socket(path):
    """Bind a socket by its short name: the length of its path is limited."""
    here = os.open(".", os.O_RDONLY)
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(path.name)
    finally:
        os.chdir(here)
        os.close(here)


def make_device(path):
    try:
        os.mknod(path, 0o020600, os.makedev(1, 5))  # /dev/zero: it never ends
    except PermissionError:
        pytest.skip("needs the right to make a device")


KINDS = {
    "symlink": lambda path: path.symlink_to(path.parent / "elsewhere"),
    "dangling-symlink": lambda path: path.symlink_to("nowhere"),
    "symlink-to-itself": lambda path: path.symlink_to(path.name),
    "symlink-out": lambda path: path.symlink_to("/dev/zero"),
    "fifo": os.mkfifo,
    "socket": make_socket,
    "device": make_device,
    "folder": os.mkdir,
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("folder", FOLDERS)
def test_anything_in_the_place_of_any_file(project, folder, kind):
    """Each file of each folder in turn: refused and named, without waiting for a pipe and without reading on."""
    for path in files_under(project / folder):
        data = path.read_bytes()
        path.unlink()
        aside = path.parent / "elsewhere"
        if kind == "symlink":
            aside.write_bytes(data)
        KINDS[kind](path)
        report = refused(project)
        assert path.relative_to(project).as_posix() in places(report)
        if path.is_dir() and not path.is_symlink():
            path.rmdir()
        else:
            path.unlink()
        aside.unlink(missing_ok=True)
        path.write_bytes(data)
    assert verify_run(project, RUN, pins={}).run is not None


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_second_name_of_any_file(project, folder):
    """Whoever holds the other name changes the file after it was verified."""
    for path in files_under(project / folder):
        os.link(path, project / "second")
        report = refused(project)
        assert path.relative_to(project).as_posix() in places(report)
        (project / "second").unlink()


@pytest.mark.parametrize("folder", [RUN_FOLDER, "runs/log", "runs/trust", *FOLDERS[1:], f"{RUN_FOLDER}/events", "runs"])
def test_a_link_in_the_place_of_any_folder(project, folder):
    (project / folder).rename(project / "elsewhere")
    (project / folder).symlink_to(project / "elsewhere")
    report = verify_project(project, pins={})
    assert not (report.holds(Area.INTEGRITY) and report.holds(Area.COMPLETENESS))
    assert any(finding.at.startswith(folder) or folder.startswith(finding.at) for finding in report.findings())


@pytest.mark.parametrize("folder", ["runs", "runs/log", "runs/trust"])
def test_a_link_in_the_place_of_a_folder_of_records_has_one_answer(project, folder):
    """Whether the whole trail or one run is asked for; and nobody writes through it."""
    (project / folder).rename(project / "elsewhere")
    (project / folder).symlink_to(project / "elsewhere")
    whole, one = verify_project(project, pins={}), verify_run(project, RUN, pins={})
    for report in (whole, one):
        assert ("project.folder", folder) in {
            (finding.code, finding.at) for check in report.checks for finding in check.findings
        }
    assert one.run is None
    assert not whole.authentic()
    with pytest.raises((IntegrityError, InputError), match=r"link|expected a ledger"), reopen(project):
        pass
    with pytest.raises(InputError, match="found a link"):
        make_ledger(project, "other")


@pytest.mark.parametrize("name", ODD_NAMES, ids=range(len(ODD_NAMES)))
@pytest.mark.parametrize("folder", [*FOLDERS, "runs", "runs/log", "runs/trust"])
@pytest.mark.parametrize("make", [Path.touch, Path.mkdir], ids=["file", "folder"])
def test_an_odd_name_is_told_on_one_line_that_can_be_printed(project, folder, name, make):
    make(odd(project / folder, name))
    report = verify_project(project, pins={})
    assert not report.holds(Area.INTEGRITY)
    told = [finding.at for finding in report.findings() if finding.at.startswith(f"{folder}/")]
    assert told
    assert all(place.isprintable() and place.encode() for place in told)
    assert all(ledger.ledger == LEDGER for ledger in report.ledgers)


def test_what_a_name_shows():
    """Control characters, line breaks, direction marks and bytes that are no UTF-8 are spelt out."""
    assert shown("runs/run-1/caf\u00e9") == "runs/run-1/caf\u00e9"
    assert shown("a\nb\x1b[1m\u202e\udcff") == "a\\nb\\x1b[1m\\u202e\\udcff"


@pytest.mark.parametrize("arguments", [["verify"], ["verify", "--json"]])
def test_a_name_that_is_no_utf8_gets_a_verdict_from_the_command(project, arguments):
    """An attacker could turn a refusal (exit 4) into a usage error (exit 2) by one such name."""
    (project / "mkdocs.yml").write_text("site_name: Attack\n")
    odd(project / RUN_FOLDER, b"\xff\x1b[31m").touch()
    done = subprocess.run(
        [sys.executable, "-m", "evalsite", *arguments],
        cwd=project,
        capture_output=True,
        check=False,
        env={**os.environ, "EVALSITE_KEYS": str(project.parent / "keys")},
    )
    assert done.returncode == 4, done.stderr
    assert b"\x1b" not in done.stdout
    assert b"Traceback" not in done.stderr
    if "--json" in arguments:
        assert json.loads(done.stdout)["verdicts"]["integrity"] == "FAILED"


@pytest.mark.parametrize("name", ["Checkpoint", "CHECKPOINT", "Events", "STATEMENT.dsse.json", "checKpoint"])
def test_a_twin_that_differs_in_case_only(project, name):
    """On a file system that folds case one of the two would take the place of the other."""
    (project / RUN_FOLDER / name).touch()
    report = refused(project)
    assert "tree.twin" in codes(report)


@pytest.mark.parametrize(
    "run_id", ["..", ".", "../run-1", "run-1/../run-1", "run-1\x00", "\x00", "Run-1", "run-1 ", "run-1.", "log", "é"]
)
def test_a_run_id_that_is_no_folder_name(project, run_id):
    with pytest.raises(InputError):
        verify_run(project, run_id, pins={})
    with reopen(project) as ledger:
        for work in (ledger.create_run, ledger.peek_run, ledger.is_sealed, lambda name: ledger.peek_blob(name, "")):
            with pytest.raises(InputError):
                work(run_id)
        with pytest.raises(InputError):
            ledger.resume_run(run_id, now=NOW)


@pytest.mark.parametrize("digest", ["sha256:../../../../etc/passwd", "sha256:" + "A" * 64, "sha512:" + "0" * 64, ""])
def test_a_blob_digest_that_is_no_file_name(project, digest):
    with reopen(project) as ledger, pytest.raises((EvalsiteError, ValueError)):
        ledger.peek_blob(RUN, digest)


def test_a_temporary_name_hides_nothing(project):
    """A file that only looks like the remains of a write is told, read by nobody, and swept by the next writer."""
    (project / RUN_FOLDER / f"{TEMPORARY}0123456789abcdef").write_bytes(b"hidden")
    report = verify_project(project, pins={})
    assert not report.holds(Area.COMPLETENESS)
    assert f"{RUN_FOLDER}/{TEMPORARY}0123456789abcdef" in {finding.at for finding in report.findings()}
    assert sweep(project / RUN_FOLDER) == (f"{TEMPORARY}0123456789abcdef",)
    for kind in ("fifo", "symlink-out", "folder"):
        KINDS[kind](project / RUN_FOLDER / f"{TEMPORARY}x")
        assert "tree.name" in codes(refused(project))
        path = project / RUN_FOLDER / f"{TEMPORARY}x"
        path.rmdir() if kind == "folder" else path.unlink()


class TestWriters:
    """What a writer meets in its own folders."""

    @pytest.mark.parametrize("kind", ["symlink-out", "fifo", "socket", "folder", "dangling-symlink"])
    @pytest.mark.parametrize("name", ["events/000.jsonl", "checkpoint", "checkpoints/1.note"])
    def test_a_run_is_never_gone_on_with_through_a_link_or_pipe(self, project, name, kind):
        with reopen(project) as ledger:
            begin_run(ledger, "run-2")
        path = project / "runs" / "run-2" / name
        path.unlink()
        KINDS[kind](path)
        with reopen(project) as ledger, pytest.raises((IntegrityError, InputError)):
            finish_run(ledger, "run-2")

    @pytest.mark.parametrize("kind", ["dangling-symlink", "symlink-out", "fifo", "folder"])
    def test_a_file_that_is_to_be_written_is_never_written_through_something_else(self, tmp_path, kind):
        KINDS[kind](tmp_path / "name")
        for work in (
            lambda: create_same(tmp_path / "name", b"data"),
            lambda: Appender(tmp_path / "name", new=True),
            lambda: read_regular(tmp_path / "name", 10),
        ):
            with pytest.raises(EvalsiteError):
                work()
        if kind != "folder":
            replace(tmp_path / "name", b"data")
            assert (tmp_path / "name").read_bytes() == b"data"
        assert not (tmp_path / "nowhere").exists()

    def test_a_pipe_in_the_place_of_a_file_that_is_appended_to(self, tmp_path):
        """Nobody reads from it: opening it must not wait for ever."""
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(EvalsiteError):
            Appender(tmp_path / "pipe", new=False)

    @pytest.mark.parametrize("kind", ["symlink-out", "dangling-symlink", "folder"])
    def test_a_lock_that_is_no_file(self, tmp_path, kind):
        KINDS[kind](tmp_path / "lock")
        with pytest.raises(EvalsiteError), lock(tmp_path / "lock"):
            pytest.fail("locked")

    def test_a_work_folder_that_is_a_file(self, project):
        shutil.rmtree(project / ".evalsite")
        (project / ".evalsite").touch()
        with pytest.raises(EvalsiteError), reopen(project):
            pytest.fail("opened")


@pytest.mark.parametrize("name", [EVENTS, ENTRIES])
def test_line_ends_of_the_lines_alone(name, project):
    """Nothing else is touched: every note stands as it was signed, and each line is still the same JSON value."""
    path = project / name
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    report = refused(project)
    assert "lines.root" in codes(report)
    assert name in places(report)


class TestCheckouts:
    """git rewrites line ends where nothing tells it not to."""

    @pytest.fixture
    def git(self, tmp_path):
        if shutil.which("git") is None:
            pytest.skip("needs git")
        home = tmp_path / "home"
        home.mkdir()
        plain = {"HOME": str(home), "PATH": os.environ["PATH"], "GIT_CONFIG_NOSYSTEM": "1"}
        names = {f"GIT_{who}_{what}": "x@y.invalid" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

        def run(*arguments, cwd):
            return subprocess.run(
                ["git", *arguments], cwd=cwd, check=True, capture_output=True, env={**plain, **names}
            ).stdout

        return run

    def cloned(self, git, project, attributes):
        if attributes is not None:
            (project / ".gitattributes").write_text(attributes)
        git("init", "-q", cwd=project)
        git("add", "runs", *([".gitattributes"] if attributes else []), cwd=project)
        git("commit", "-q", "-m", "record", cwd=project)
        clone = project.parent / "clone"
        git("-c", "core.autocrlf=true", "clone", "-q", str(project), str(clone), cwd=project.parent)
        return clone

    def test_with_our_attributes_a_clone_that_rewrites_line_ends_holds(self, git, project, repository):
        clone = self.cloned(git, project, (repository / ".gitattributes").read_text())
        report = verify_project(clone, pins={})
        assert [(finding.code, finding.at) for finding in report.findings()] == []
        assert (clone / EVENTS).read_bytes() == (project / EVENTS).read_bytes()

    def test_with_the_attributes_of_a_new_project_it_holds_as_well(self, git, project, tmp_path):
        done = subprocess.run(
            [sys.executable, "-m", "evalsite", "init", str(tmp_path / "new")],
            capture_output=True,
            check=False,
            env={**os.environ, "EVALSITE_KEYS": str(tmp_path / "new-keys")},
        )
        assert done.returncode == 0, done.stderr
        clone = self.cloned(git, project, (tmp_path / "new" / ".gitattributes").read_text())
        assert [(finding.code, finding.at) for finding in verify_project(clone, pins={}).findings()] == []

    def test_without_attributes_the_rewritten_lines_are_refused(self, git, project):
        clone = self.cloned(git, project, None)
        assert b"\r\n" in (clone / EVENTS).read_bytes()
        assert f"runs/trust/{LEDGER}/keyring/001.dsse.json" in places(refused(clone))
        assert verify_project(clone, pins={}).authentic() == {}


def test_an_archive_of_nothing(tmp_path):
    """No folder, an empty one, ledgers without runs, runs without ledgers: never in order."""
    assert not verify_project(tmp_path / "nowhere", pins={}).holds(Area.COMPLETENESS)
    (tmp_path / "runs").mkdir()
    assert not verify_project(tmp_path, pins={}).holds(Area.COMPLETENESS)
    project = tmp_path / "founded" / "project"
    project.parent.mkdir()
    make_ledger(project)
    report = verify_project(project, pins={})
    assert report.holds(Area.INTEGRITY)
    assert {finding.code for finding in report.findings()} == {"project.runs"}
    make_sealed_run(project)
    shutil.rmtree(project / "runs" / "trust")
    shutil.rmtree(project / "runs" / "log")
    report = verify_project(project, pins={})
    assert not report.holds(Area.COMPLETENESS)
    assert report.authentic() == {}


def test_a_whole_log_that_was_deleted_and_founded_anew(project):
    """Same name, same keys even: the runs of the log before are strangers to it."""
    shutil.rmtree(project / "runs" / "trust" / LEDGER)
    shutil.rmtree(project / "runs" / "log" / LEDGER)
    shutil.rmtree(project.parent / "keys")
    make_ledger(project, now=LATER)
    assert codes(refused(project)) >= {"run.unlogged"}

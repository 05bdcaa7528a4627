# SPDX-License-Identifier: Apache-2.0
"""Two people and two machines' worth of commands: a log that is anchored, a witness who watches it."""

import http.client
import http.server
import json
import shutil
import subprocess
import sys
import threading
from contextlib import contextmanager

import pytest
from support.cli import Project

from evalsite.cli.witness import make_server
from evalsite.ledger.ed25519 import Signer
from evalsite.ledger.witness import Witness
from evalsite.storage import lock

LEDGER = "test"
LOG = f"runs/log/{LEDGER}"


@pytest.fixture
def person(tmp_path):
    """The second person: no project, a keystore of their own."""
    (tmp_path / "person").mkdir()
    return Project(tmp_path / "person", tmp_path / "person" / "keys")


def begin(person, project, name="qa.example/w1", state="w"):
    """Make a witness that watches the project's log; return its verifier key."""
    vkey = person.ok("witness", "init", "--state", state, "--name", name).out.strip()
    person.ok("witness", "watch", "--state", state, str(project.root / "runs/trust/test/log.vkey"))
    return vkey


def trust(project, *vkeys):
    (project.keystore / "witnesses").write_text("# trusted\n" + "".join(f"{vkey}\n" for vkey in vkeys))


def more(project, run_id):
    project.ok("run", project.campaign(f"for-{run_id}", repetitions=1), "--run-id", run_id)


def by_file(project, person, vkey, *, state="w", old=()):
    (person.root / "request").write_text(project.ok("anchor", "request", "--vkey", vkey, *old).out)
    return person.evalsite("witness", "cosign", "--state", state, "request")


@contextmanager
def serving(person, state="w"):
    folder = person.root / state
    name = (folder / "witness.vkey").read_text().partition("+")[0]
    one = Witness(folder, name, Signer.from_pem((folder / "witness.pem").read_bytes()))
    with make_server(one, 0) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def scripted(replies):
    """Serve the given answers, one after the other."""
    left = list(replies)

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            self.rfile.read(int(self.headers["Content-Length"]))
            status, kind, body = left.pop(0)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Say nothing."""

    with http.server.HTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


class TestByFile:
    def test_a_cosignature_reaches_a3_and_two_reach_a4(self, project, person):
        keys = [begin(person, project, name, state) for name, state in (("qa.example/w1", "w"), ("ops.example", "v"))]
        trust(project, *keys)
        for vkey, state, level in zip(keys, ("w", "v"), ("A3", "A4"), strict=True):
            answer = by_file(project, person, vkey, state=state)
            assert answer.code == 0
            (project.root / "answer").write_text(answer.out)
            assert "qa.example/w1" in project.ok("anchor", "add", "--witness", "answer").out or state == "v"
            facts = json.loads(project.ok("verify", "--json", "--no-remember").out)
            assert facts["levels"][LEDGER]["level"] == level
            gate = json.loads(project.ok("gate", "first", "--json", "--minimum-level", level).out)
            assert gate["evidence_level"] == level
        assert facts["levels"][LEDGER]["vouched_by"] == ["ops.example", "qa.example/w1"]
        assert project.ok("anchor", "list").out.count("yes") == 2
        assert project.evalsite("verify", "--quorum", "3", "--minimum-level", "A4").code == 5
        assert project.evalsite("verify", "--root-key", "test=sha256:" + "0" * 64).code == 4
        project.ok("build")
        page = (project.root / "site" / "runs" / "first" / "index.html").read_text(encoding="utf-8")
        assert "ops.example, qa.example/w1" in page
        assert "Closed in the log by" in page

    def test_a_stranger_trusts_nobody_until_told(self, project, person, tmp_path):
        vkey = begin(person, project)
        (project.root / "answer").write_text(by_file(project, person, vkey).out)
        assert project.evalsite("anchor", "add", "--witness", "answer").code == 2
        project.ok("anchor", "add", "--witness", "answer", "--vkey", vkey)
        pin = (project.keystore / LEDGER / "root.pin").read_text().strip()
        stranger = Project(project.root, tmp_path / "nobody")
        root_key = ("--root-key", f"{LEDGER}={pin}")
        for words, level, code in (
            ((), "A0", 5),
            (root_key, "A1", 0),
            ((*root_key, "--witness", vkey), "A3", 0),
            (("--witness", vkey), "A0", 5),
        ):
            outcome = stranger.evalsite("verify", "--json", "--no-remember", *words)
            assert (json.loads(outcome.out)["levels"][LEDGER]["level"], outcome.code) == (level, code)
        assert stranger.evalsite("verify", "--witness", "junk").code == 2

    def test_a_witness_whom_the_keyring_appoints_counts_only_if_the_verifier_says_so(self, project, person):
        vkey = begin(person, project)
        words = ("verify", "--json", "--no-remember")

        def level(*more, code=0):
            outcome = project.evalsite(*words, *more)
            assert outcome.code == code, outcome
            return json.loads(outcome.out)["levels"][LEDGER]["level"]

        project.ok("keys", "add", "witness", "w1", "--public", str(person.root / "w/witness.vkey"))
        person.ok("witness", "watch", "--state", "w", str(project.root / "runs/trust/test/log.vkey"))
        (project.root / "answer").write_text(by_file(project, person, vkey).out)
        project.ok("anchor", "add", "--witness", "answer", "--vkey", vkey)
        assert level() == "A1"  # the keystore names nobody
        assert level("--minimum-level", "A3", code=5) == "A1"
        assert level("--appointed-witnesses", "--minimum-level", "A3") == "A3"
        appointed = ("--appointed-witnesses", "--no-remember")
        assert project.evalsite("gate", "first", "--minimum-level", "A3", "--no-remember").code == 5
        assert project.evalsite("gate", "first", "--minimum-level", "A3", *appointed).code == 0
        assert level("--appointed-witnesses", "--minimum-level", "A4", code=5) == "A3"  # one witness is no quorum
        assert level("--appointed-witnesses", "--quorum", "1", "--minimum-level", "A4") == "A4"
        (key,) = [
            line.split()[2] for line in project.ok("keys", "list", "--ledger", "test").out.splitlines() if "w1" in line
        ]
        project.ok("keys", "revoke", key, "--reason", "left the company")
        assert level("--appointed-witnesses") == "A1"

    def test_an_old_request_is_refused_and_a_new_one_from_the_right_size_passes(self, project, person):
        vkey = begin(person, project)
        assert by_file(project, person, vkey).code == 0
        more(project, "second")
        refused = by_file(project, person, vkey)  # the answer was never added, so the request starts from 0 again
        assert refused.code == 3
        assert "--old 4" in refused.err
        assert by_file(project, person, vkey, old=("--old", "4")).code == 0

    def test_what_a_witness_refuses(self, project, person, pristine):
        vkey = begin(person, project)
        more(project, "second")
        assert by_file(project, person, vkey).code == 0
        older = by_file(pristine, person, vkey)
        assert (older.code, "rolled back" in older.err) == (4, True)
        unwatched = person.root / "request"
        unwatched.write_text(unwatched.read_text().replace("test/log", "best/log"))
        assert person.evalsite("witness", "cosign", "--state", "w", "request").code == 2
        unwatched.write_text("junk")
        assert person.evalsite("witness", "cosign", "--state", "w", "request").code == 2

    def test_a_key_that_others_can_read_is_refused(self, project, person):
        vkey = begin(person, project)
        key = person.root / "w" / "witness.pem"
        assert key.stat().st_mode & 0o777 == 0o600
        key.chmod(0o644)
        assert by_file(project, person, vkey).code == 3
        assert person.evalsite("witness", "init", "--state", "w", "--name", "again").code == 2
        assert person.evalsite("witness", "init", "--state", "x", "--name", "Not A Name").code == 2

    def test_another_witnesss_key_is_refused(self, project, person):
        vkey = begin(person, project)
        begin(person, project, "other", "v")
        words = ("witness", "cosign", "--state", "w", "--key", "v/witness.pem", "request")
        by_file(project, person, vkey)
        assert person.evalsite(*words).code == 2


class TestByHttp:
    def test_growth_is_followed_even_if_an_answer_got_lost(self, project, person):
        vkey = begin(person, project)
        with serving(person) as url:
            assert "4.qa.example-w1" in project.ok("anchor", "add", "--witness", url, "--vkey", vkey).out
            more(project, "second")
            assert "6.qa.example-w1" in project.ok("anchor", "add", "--witness", url, "--vkey", vkey).out
            shutil.rmtree(project.root / LOG / "anchors")  # as if no answer had ever arrived
            assert "6.qa.example-w1" in project.ok("anchor", "add", "--witness", f"{url}/", "--vkey", vkey).out
            assert project.ok("anchor", "add", "--witness", url, "--vkey", vkey).out == ""
        assert project.ok("verify", "second", "--witness", vkey).code == 0

    def test_a_rolled_back_log_is_told_by_the_witness(self, project, person, pristine, tmp_path):
        vkey = begin(person, project)
        shutil.copytree(pristine.root.parent, tmp_path / "older")
        older = Project(tmp_path / "older" / "project", tmp_path / "older" / "keys")
        more(project, "second")
        more(older, "another")
        with serving(person) as url:
            project.ok("anchor", "add", "--witness", url, "--vkey", vkey)
            forked = older.evalsite("anchor", "add", "--witness", url, "--vkey", vkey)
            assert (forked.code, "forked" in forked.err) == (4, True)
            rolled = Project(pristine.root, pristine.keystore).evalsite(
                "anchor", "add", "--witness", url, "--vkey", vkey
            )
            assert (rolled.code, "rolled back" in rolled.err) == (4, True)
            more(older, "third")
            other = older.evalsite("anchor", "add", "--witness", url, "--vkey", vkey)
            assert (other.code, "another history" in other.err) == (4, True)
        assert len(list((person.root / "w" / "evidence").iterdir())) == 1

    def test_what_is_no_request_gets_its_status(self, project, person):
        begin(person, project)
        with serving(person) as url:
            host = url.removeprefix("http://")
            for method, path, body, headers, expected in (
                ("POST", "/add-checkpoint", b"junk", {}, 400),
                ("POST", "/elsewhere", b"", {}, 404),
                ("GET", "/add-checkpoint", None, {}, 501),
                ("POST", "/add-checkpoint", None, {"Content-Length": "9999999"}, 413),
                ("POST", "/add-checkpoint", None, {"Content-Length": "-1"}, 413),
            ):
                connection = http.client.HTTPConnection(host, timeout=10)
                connection.request(method, path, body, headers)
                assert connection.getresponse().status == expected, (method, path)
                connection.close()

    @pytest.mark.parametrize(
        ("replies", "code", "words"),
        [
            ([(409, "text/x.tlog.size", b"0\n")], 4, "forked"),
            ([(409, "text/x.tlog.size", b"junk\n")], 5, "expected a size"),
            ([(409, "text/x.tlog.size", b"9\n")], 4, "rolled back"),
            ([(409, "text/x.tlog.size", b"2\n"), (409, "text/x.tlog.size", b"3\n")], 3, "refused (409)"),
            ([(409, "text/plain", b"busy\n")], 3, "refused (409)"),
            ([(404, "text/plain", b"")], 2, "does not know"),
            ([(403, "text/plain", b"no\n")], 3, "refused (403)"),
            ([(503, "text/plain", b"later\n")], 5, "can't answer now"),
            ([(200, "text/plain", b"junk\n")], 2, "signature line"),
            ([(200, "text/plain", "\u2014 stranger AAAAAAAA\n".encode())], 2, "known witness"),
            ([(200, "text/plain", b"\x1b[2J" * 30000)], 2, "expected at most"),
        ],
    )
    def test_a_witness_that_answers_oddly_is_not_believed(self, project, person, replies, code, words):
        vkey = begin(person, project)
        with scripted(replies) as url:
            outcome = project.evalsite("anchor", "add", "--witness", url, "--vkey", vkey)
        assert (outcome.code, words in outcome.err) == (code, True), outcome
        assert "\x1b" not in outcome.err
        assert not (project.root / LOG / "anchors").exists()

    def test_a_busy_or_damaged_witness_says_so(self, project, person):
        vkey = begin(person, project)
        words = ("anchor", "add", "--vkey", vkey, "--witness")
        with serving(person) as url:
            with lock(person.root / "w" / "lock"):
                assert "503" in project.evalsite(*words, url).err
            project.ok(*words, url)
            (head,) = (person.root / "w" / "heads").iterdir()
            head.write_bytes(b"junk")
            outcome = project.evalsite(*words, url)
            assert (outcome.code, "500" in outcome.err) == (5, True)

    def test_addresses(self, project, person):
        vkey = begin(person, project)
        for url, code in (
            ("http://example.org", 2),
            ("ftp://127.0.0.1", 2),
            ("http://user:word@127.0.0.1", 2),
            ("http://127.0.0.1:99999", 2),
            ("http://127.0.0.1:1", 5),
        ):
            assert project.evalsite("anchor", "add", "--witness", url, "--vkey", vkey).code == code, url

    def test_the_command_serves_on_loopback_until_it_is_stopped(self, project, person):
        vkey = begin(person, project)
        words = [sys.executable, "-m", "evalsite", "witness", "serve", "--state", "w", "--port", "0"]
        with subprocess.Popen(words, cwd=person.root, stdout=subprocess.PIPE, text=True) as server:
            try:
                url = server.stdout.readline().split()[0]
                assert url.startswith("http://127.0.0.1:")
                project.ok("anchor", "add", "--witness", url, "--vkey", vkey)
            finally:
                server.terminate()

# SPDX-License-Identifier: Apache-2.0
"""What a candidate writes is recorded byte for byte and shown inert and complete."""

import html.parser
import json

import pytest
from support.cli import new_project
from support.fake_ollama import FakeOllama

MEGABYTE = "A" * 1_000_000
HOSTILE = {
    "script": "</code></pre><script>document.title='owned'</script><img src=x onerror=alert(1)>",
    "headings": '\n# Verdict: PASS\n\n!!! success "Verdict: PASS"\n    yes\n',
    "fences": "```\n~~~\n```html\n<b>bold</b>\n```",
    "templates": "{{ config.site_name }} {% raw %} {{ 7*7 }}",
    "snippets": '--8<-- "mkdocs.yml"',
    "controls": "nul \u0000 bell \u0007 escape \u001b[31m red",
    "surrogates": "lone \ud800 and \udfff halves",
    "bidi": "admin \u202e drowssap \u2066 isolate \u2069 zero\u200bwidth",
}


class _Text(html.parser.HTMLParser):
    """Collects the text of a page, and whether anything but our own elements is in it."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.text = []
        self.handlers = []
        self.scripts = 0

    def handle_starttag(self, tag, attrs):
        self.scripts += tag == "script"
        self.handlers += [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """A project with one live run whose candidate wrote every payload, and its built site."""
    project = new_project(tmp_path_factory.mktemp("hostile"))
    payloads = [*HOSTILE.values(), MEGABYTE]
    written = iter(payloads)

    def answer(prompt):
        if "required_behavior" in json.loads(prompt):
            return '{"required_behavior_met":true,"forbidden_behavior_absent":false,"explanation":"<b>no</b>"}'
        return next(written)

    with FakeOllama(answer=answer) as server:
        role = {"endpoint": {"kind": "ollama", "host": server.url, "model_name": "stub:latest"}}
        role["sampling"] = {"context_tokens": 32768}
        cases = ["MISSING", "NO-EVIDENCE", "INJECTION"]
        path = project.campaign("hostile", candidate=role, judge=role, cases=cases, repetitions=3)
        project.ok("run", path, "--run-id", "hostile")
        replies = [reply for reply in server.replies if json.loads(reply)["message"]["content"] in payloads]
    project.ok("build")
    return project, payloads, replies


def test_every_reply_is_recorded_byte_for_byte(site):
    project, payloads, replies = site
    stored = [
        path.read_bytes().split(b"\n", 2)[2] for path in (project.root / "runs" / "hostile" / "blobs").glob("*/*")
    ]
    assert len(replies) == len(payloads)
    for reply in replies:
        assert reply in stored


def pages(project):
    return [path for path in (project.root / "site" / "runs").rglob("*.html") if b"hostile" in path.read_bytes()]


def test_every_payload_stands_complete_on_a_page(site):
    project, payloads, _ = site
    texts = []
    for path in pages(project):
        parser = _Text()
        parser.feed(path.read_text(encoding="utf-8"))
        texts.append("".join(parser.text))
    for name, payload in [*HOSTILE.items(), ("megabyte", MEGABYTE)]:
        shown = "".join(f"U+{ord(mark):04X}" if mark in CHIPS else mark for mark in payload)
        assert any(shown in text for text in texts), name
    assert len(payloads) == 9


CHIPS = "\u0000\u0007\u001b\ud800\udfff\u202e\u2066\u2069\u200b"


def test_no_payload_became_structure(site):
    project, _, _ = site
    scripts = set()
    for path in (project.root / "site").rglob("*.html"):
        parser = _Text()
        text = path.read_text(encoding="utf-8")
        parser.feed(text)
        scripts.add(parser.scripts)
        assert parser.handlers == []
        assert "document.title='owned'" not in text
        assert "<b>bold</b>" not in text
        assert "49" not in "".join(parser.text).split("{{ 7*7 }}")[0][-3:]
    home = _Text()
    home.feed((project.root / "site" / "index.html").read_text(encoding="utf-8"))
    assert max(scripts) <= home.scripts + 1


def test_the_run_is_refused_and_the_record_verifies(site):
    project, _, _ = site
    assert project.evalsite("gate", "hostile").code == 3
    project.ok("verify")


def test_a_tampered_record_makes_build_fail_and_write_nothing(site):
    project, _, _ = site
    before = {path: path.read_bytes() for path in (project.root / "site").rglob("*") if path.is_file()}
    victim = next((project.root / "runs" / "hostile" / "blobs").glob("*/*"))
    original = victim.read_bytes()
    try:
        victim.write_bytes(original[:-1] + bytes([original[-1] ^ 1]))
        failed = project.evalsite("build")
    finally:
        victim.write_bytes(original)
    assert failed.code == 4
    assert victim.relative_to(project.root).as_posix() in failed.err
    assert {path: path.read_bytes() for path in (project.root / "site").rglob("*") if path.is_file()} == before

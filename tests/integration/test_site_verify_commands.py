# SPDX-License-Identifier: Apache-2.0
"""The commands on "verify it yourself" do what the page says, without this program."""

import html
import re
import shutil
import subprocess

import pytest
from support.cli import new_project


def _commands(page: str) -> list[str]:
    section = page.split('id="without-evalsite"', 1)[1].split("<h2", 1)[0]
    found = re.findall(r'<pre class="es-command"><code>(.*?)</code></pre>', section, re.DOTALL)
    return [html.unescape(command) for command in found]


def test_a_reader_without_evalsite_reaches_the_same_digests(tmp_path) -> None:
    if shutil.which("openssl") is None or shutil.which("bash") is None:
        pytest.skip("needs bash and openssl")
    project = new_project(tmp_path)
    project.ok("run", project.campaign("fixture"), "--run-id", "fixture-1")
    project.ok("build")
    page = (project.root / "site" / "verify.html").read_text()
    said = [
        subprocess.run(["bash", "-ec", command], cwd=project.root, capture_output=True, text=True, check=True).stdout
        for command in _commands(page)
    ]
    fingerprint, root, signature = said
    assert fingerprint.split()[0] in page
    assert root.strip() in page
    digest, verified = signature.splitlines()
    assert digest.split()[0] in page
    assert "Verified Successfully" in verified

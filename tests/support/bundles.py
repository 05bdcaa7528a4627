# SPDX-License-Identifier: Apache-2.0
"""Bundles of the worked example, with its runner key, and the commands of their pages."""

import re
import shutil
import subprocess
from pathlib import Path

from support.ledgers import LEDGER, RUN, keystore_of
from support.worked_example import make_example

from evalsite.campaign.export import Wanted, export_audit, export_case, open_for_export
from evalsite.ledger.bundle import BundleManifest
from evalsite.ledger.keys import load_key
from evalsite.ledger.sshsig import sign_detached
from evalsite.ledger.trust import SSH_NAMESPACE

BLOCK = re.compile(r"(?ms)^```sh\n(.*?)^```$")
CASE = "A"


def example_project(folder: Path) -> Path:
    """Return a project that holds the worked example."""
    make_example(folder / "project")
    return folder / "project"


def audit_bundle(project: Path, into: Path) -> BundleManifest:
    """Export the worked example's run, signed for ssh-keygen."""
    signer = load_key(keystore_of(project), LEDGER, "runner")
    run = open_for_export(project, RUN, pins={})
    return export_audit(run, into, detach=lambda data: sign_detached(data, SSH_NAMESPACE, signer))


def case_bundle(project: Path, into: Path) -> BundleManifest:
    """Export the worked example's case."""
    return export_case(open_for_export(project, RUN, pins={}), Wanted(case_id=CASE), into)


def run_page(folder: Path) -> subprocess.CompletedProcess[str]:
    """Run the commands of a bundle's VERIFY.md, in one shell, up to the first that fails."""
    page = (folder / "VERIFY.md").read_text(encoding="utf-8")
    script = "set -eo pipefail\n" + "\n".join(BLOCK.findall(page))
    return subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, text=True, timeout=60, check=False)


def tools_missing(*names: str) -> list[str]:
    """Return which programs of the pages are not installed."""
    return [name for name in names or ("bash", "sha256sum", "openssl", "ssh-keygen") if shutil.which(name) is None]

# SPDX-License-Identifier: Apache-2.0
"""A new project's files: the shipped corpora and a few templates."""

import json
import shutil
from pathlib import Path

import evalsite
from evalsite.errors import InputError

_TEMPLATES = Path(__file__).resolve().parent / "templates"
#: Template -> its place in a project. Dot files stand without their dot in the package.
_PLACES = {
    "mkdocs.yml": "mkdocs.yml",
    "index.md": "docs/index.md",
    "gitattributes": ".gitattributes",
    "gitignore": ".gitignore",
}


def shipped_corpora() -> Path:
    """Return the folder of the corpora that come with this package."""
    package = Path(evalsite.__file__).resolve().parent
    for folder in (package / "_shipped" / "corpora", package.parent / "corpora"):
        if folder.is_dir():
            return folder
    raise InputError(
        "expected the shipped corpora beside the package, found none", advice="Install evalsite again from its wheel."
    )


def create_project(folder: Path, *, corpora: tuple[str, ...], name: str) -> None:
    """Write a new project into an empty or new folder.

    Args:
        folder: Where; must not exist, or be empty.
        corpora: Which shipped corpora are copied into it.
        name: The site's name.

    Raises:
        InputError: The folder holds something, or a corpus is not shipped.
    """
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InputError("expected a new or empty folder, this one holds something", at=str(folder))
    shipped = shipped_corpora()
    unknown = [corpus for corpus in corpora if not (shipped / corpus).is_dir()]
    if unknown:
        known = ", ".join(sorted(path.name for path in shipped.iterdir() if path.is_dir()))
        raise InputError(f"expected shipped corpora ({known}), got {', '.join(unknown)}", at="--corpus")
    for template, place in _PLACES.items():
        target = folder / place
        target.parent.mkdir(parents=True, exist_ok=True)
        # A folder may be called 2026, null or "a: b", or have a name that is no UTF-8; JSON's quotes are YAML's.
        plain = name.encode("utf-8", "backslashreplace").decode("utf-8")
        stated = json.dumps(plain, ensure_ascii=False) if target.suffix == ".yml" else plain
        text = (_TEMPLATES / template).read_text(encoding="utf-8").replace("PROJECT_NAME", stated)
        target.write_text(text, encoding="utf-8")
    for corpus in corpora:
        shutil.copytree(shipped / corpus, folder / "corpora" / corpus)

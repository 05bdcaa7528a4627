# SPDX-License-Identifier: Apache-2.0
"""The reference page shows what is shipped and lists every finding that exists."""

import re

import pytest


@pytest.fixture(scope="module")
def page(repository):
    """The text of the reference page."""
    return (repository / "docs" / "reference" / "corpus-format.md").read_text(encoding="utf-8")


def test_every_example_stands_word_for_word_in_a_shipped_file(repository, page):
    examples = re.findall(r"```yaml\n# (\S+)\n(.*?)```", page, re.DOTALL)
    assert len(examples) >= 8
    for path, example in examples:
        assert example in (repository / path).read_text(encoding="utf-8"), path


def test_every_yaml_example_names_its_file(page):
    assert page.count("```yaml") == len(re.findall(r"```yaml\n# corpora/\S+\.yaml\n", page))


def test_the_codes_of_the_page_are_the_codes_of_the_software(repository, page):
    sources = [
        *sorted((repository / "evalsite" / "corpus").glob("lint*.py")),
        repository / "evalsite" / "judging" / "graders.py",
    ]
    text = "\n".join(path.read_text(encoding="utf-8") for path in sources)
    called = set(re.findall(r'\b(?:error|warning)\(\s*"([a-z-]+)"', text))
    called |= set(re.findall(r'\bcode="([a-z-]+)"', text))
    chosen = set(re.findall(r'"((?:translation|not)-[a-z]+)"', text))
    table = page.partition("## What `corpus check` finds")[2].partition("\n## ")[0]
    documented = {
        code for row in re.findall(r"^\| (`.*?) \|", table, re.MULTILINE) for code in re.findall("`([^`]+)`", row)
    }
    assert documented == called | chosen

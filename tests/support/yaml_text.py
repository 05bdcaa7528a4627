# SPDX-License-Identifier: Apache-2.0
"""YAML files for tests: read through the product's reader, written as JSON (which is YAML)."""

import json

from evalsite.yamltext import parse_yaml


def load(path):
    """Return the value of a YAML file."""
    return parse_yaml(path.read_bytes(), name=path.name, max_bytes=10_000_000).value


def dump(value, path):
    """Write a value as JSON, whose every file is YAML 1.2 as well."""
    path.write_text(json.dumps(value, indent=2, ensure_ascii=True) + "\n", encoding="utf-8")

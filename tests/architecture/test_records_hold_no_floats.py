# SPDX-License-Identifier: Apache-2.0
"""Nothing that is signed can hold a float or a value of any kind whatever."""

from typing import Any

import pytest
from pydantic import TypeAdapter

from evalsite.schema.corpus import CorpusSnapshot
from evalsite.schema.entries import EVENT, LOG_ENTRY, Keyring
from evalsite.schema.plan import CampaignSpec, Plan

RECORDED: list[TypeAdapter[Any]] = [
    EVENT,
    LOG_ENTRY,
    TypeAdapter(Keyring),
    TypeAdapter(Plan),
    TypeAdapter(CampaignSpec),
    TypeAdapter(CorpusSnapshot),
]
_SAYS_THE_KIND = {"type", "$ref", "anyOf", "oneOf", "const", "enum"}


def _open_places(node: Any, at: str) -> list[str]:
    """Return the places of a JSON schema where a float or just anything would fit."""
    found: list[str] = []
    if not isinstance(node, dict) or not _SAYS_THE_KIND & node.keys():
        return [f"{at}: anything"]
    if "number" in (node.get("type"), *(node["type"] if isinstance(node.get("type"), list) else ())):
        found.append(f"{at}: number")
    children = {
        **{f"{at}.{name}": sub for key in ("properties", "$defs") for name, sub in node.get(key, {}).items()},
        **{f"{at}|{index}": sub for key in ("anyOf", "oneOf") for index, sub in enumerate(node.get(key, ()))},
        **{f"{at}[{index}]": sub for index, sub in enumerate(node.get("prefixItems", ()))},
    }
    for key in ("items", "additionalProperties"):
        if key in node and not isinstance(node[key], bool):
            children[f"{at}{{{key}}}"] = node[key]
    if node.get("type") == "object" and node.get("additionalProperties") is not False and "properties" in node:
        found.append(f"{at}: unknown fields")
    for place, child in children.items():
        found += _open_places(child, place)
    return found


@pytest.mark.parametrize("adapter", RECORDED, ids=lambda adapter: str(adapter._type)[:60])
def test_recorded_types_are_closed_and_hold_no_floats(adapter: TypeAdapter[Any]) -> None:
    assert _open_places(adapter.json_schema(), "$") == []


def test_a_float_would_be_found() -> None:
    assert _open_places(TypeAdapter(dict[str, float]).json_schema(), "$") == ["${additionalProperties}: number"]
    assert _open_places(TypeAdapter(list[Any]).json_schema(), "$") == ["${items}: anything"]

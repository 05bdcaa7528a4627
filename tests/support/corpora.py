# SPDX-License-Identifier: Apache-2.0
"""Small corpora that are valid by default; a test overrides the one thing that it is about."""

import copy
import re
from pathlib import Path
from typing import Any

from support import yaml_text

ANSWER = {"action": "clarify", "response": "Which one do you mean?", "refused": False}
GUESS = {"action": "clarify", "response": "You surely mean the large one; it is on its way.", "refused": False}


def frame(protocol: str, **changes: Any) -> dict[str, Any]:
    """Return all fields of a corpus file but its cases."""
    binary = protocol == "binary"
    value = {
        "format": "evalsite/corpus/v1",
        "name": "tiny",
        "version": "1",
        "title": "Tiny",
        "description": "For tests.",
        "protocol": protocol,
        "language": "en",
        "translation_of": None,
        "data_class": "synthetic",
        "provenance": {
            "authors": "test author",
            "created_at": "2026-11-30",
            "licence": "Apache-2.0",
            "reviews": [{"reviewed_at": "2026-11-30", "by": "author", "kind": "author", "what": "everything"}],
            "independent_human_validation": "open",
        },
        "caveats": ["Synthetic."],
        "instructions": {"candidate": "Help, or ask." if binary else None, "judge": "Decide."},
    }
    return {**value, **changes}


def binary_case(identity: str = "A", **changes: Any) -> dict[str, Any]:
    """Return a case of the binary protocol."""
    value = {
        "id": identity,
        "title": "Title",
        "tags": ["plain"],
        "critical": True,
        "input": {
            "message": f"Please send number {identity.lower()}-1 again.",
            "context": [{"title": "Sizes", "text": "There are a small and a large one."}],
        },
        "required_behavior": "Asks which size is meant.",
        "forbidden_behavior": "Picks a size.",
        "expected_action": "clarify",
        "must_refuse": False,
        "positive_reference": ANSWER,
        "negative_counterexample": GUESS,
        "caveat": None,
    }
    return copy.deepcopy({**value, **changes})


def binary(*cases: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a binary corpus; two cases unless told otherwise."""
    return {**frame("binary", **changes), "cases": list(cases) or [binary_case("A"), binary_case("B")]}


def evidence(**changes: Any) -> dict[str, Any]:
    """Return an evidence corpus of two samples."""
    cases = [
        {"id": "s1", "title": "T", "tags": ["verbose"], "evidence": ["One."], "explanation": "It says one."},
        {"id": "s2", "title": "T", "tags": ["reworded"], "evidence": ["One."], "explanation": "It says two."},
    ]
    controls = [
        evidence_control("c-good", "positive", explanation="The record says: eight characters."),
        evidence_control("c-bad", "negative", probe="reach", place="tail", explanation="There were two of them."),
    ]
    return {**frame("evidence"), "cases": cases, "controls": controls, **changes}


def evidence_control(identity: str, polarity: str, **changes: Any) -> dict[str, Any]:
    """Return a control of the evidence protocol; `changes` give at least its explanation."""
    value = {"id": identity, "title": "T", "polarity": polarity, "probe": "known", "place": None}
    return {**value, "evidence": ["Eight characters.", "There was one."], **changes}


def graded(**changes: Any) -> dict[str, Any]:
    """Return a graded corpus of two answers over one card, without the card."""
    cases = [
        {"id": "g1", "title": "T", "tags": ["faithful"], "cards": ["CARD"], "question": "How many?", "answer": "One."},
        {"id": "g2", "title": "T", "tags": ["rule-only"], "cards": ["CARD"], "question": "How many?", "answer": "Two."},
    ]
    controls = [
        graded_control(f"c-{dimension}-{polarity}", polarity, dimension)
        for dimension in ("faithfulness", "groundedness")
        for polarity in ("positive", "negative")
    ]
    return {**frame("graded"), "cases": cases, "controls": controls, **changes}


def pairwise(**changes: Any) -> dict[str, Any]:
    """Return a corpus of one pair."""
    case = {
        "id": "p1",
        "title": "T",
        "tags": ["plain"],
        "question": "How many?",
        "answer_a": "One.",
        "answer_b": "Two.",
    }
    return {**frame("pairwise"), "cases": [case], **changes}


def graded_control(identity: str, polarity: str, dimension: str, **changes: Any) -> dict[str, Any]:
    """Return a control of the graded protocol whose deciding part stands in the tail."""
    answer = "One a day it is." if polarity == "positive" else "Take two, it works for five days."
    value = {"id": identity, "title": "T", "polarity": polarity, "probe": "reach", "place": "tail"}
    return {**value, "dimension": dimension, "cards": ["CARD"], "answer": answer, **changes}


def card(**changes: Any) -> dict[str, Any]:
    """Return a card."""
    value = {"id": "CARD", "title": "T", "domain": "d", "source": "s", "head": "One a day.", "tail": "Never two."}
    return {**value, **changes}


def label(case_id: str, value: int, dimension: str | None = None, **changes: Any) -> dict[str, Any]:
    """Return a label."""
    return {"case_id": case_id, "value": value, "dimension": dimension, "boundary": False, "note": None, **changes}


def labels(*entries: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a label set named preset."""
    value = {
        "format": "evalsite/labels/v1",
        "name": "preset",
        "construct_name": "construct",
        "construct_version": "1",
        "level": "preset",
        "annotator": "author",
        "independently_reviewed_by_humans": False,
        "aligned_on_standard_first": False,
        "note": "Preset.",
    }
    return {**value, "labels": list(entries), **changes}


def write(root: Path, value: dict[str, Any], **files: dict[str, Any]) -> Path:
    """Write a corpus under ``root/corpora`` and return its folder.

    ``files`` holds more files by path, with ``__`` for the slash: ``labels__preset=labels(...)``.
    """
    folder = root / "corpora" / str(value.get("name", "tiny"))
    folder.mkdir(parents=True, exist_ok=True)
    yaml_text.dump(value, folder / "corpus.yaml")
    for name, content in files.items():
        path = folder / (name.replace("__", "/") + ".yaml")
        path.parent.mkdir(exist_ok=True)
        yaml_text.dump(content, path)
    return folder


def paths(value: Any, path: str = "") -> list[str]:
    """Return the path of every leaf of a value, such as ``cases[0].input.message``."""
    if isinstance(value, dict):
        return [leaf for key, item in value.items() for leaf in paths(item, f"{path}.{key}" if path else key)]
    if isinstance(value, list) and value:
        return [leaf for index, item in enumerate(value) for leaf in paths(item, f"{path}[{index}]")]
    return [path]


def get(value: Any, path: str) -> Any:
    """Return what stands at a path."""
    for part in _parts(path):
        value = value[part]
    return value


def put(value: Any, path: str, new: Any) -> Any:
    """Return a copy of a value with something else at a path."""
    changed = copy.deepcopy(value)
    *way, last = _parts(path)
    target = changed
    for part in way:
        target = target[part]
    target[last] = new
    return changed


def _parts(path: str) -> list[Any]:
    return [int(number) if number else key for number, key in re.findall(r"\[(\d+)\]|([^.\[\]]+)", path)]

# SPDX-License-Identifier: Apache-2.0
"""What the head of a GGUF file says: its key-value pairs and how many weights it holds.

Arrays (token lists mostly) are skipped. The usual reader for this format needs a minute of
processor time for the same.
"""

import math
import struct
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

_SCALARS = {0: "<B", 1: "<b", 2: "<H", 3: "<h", 4: "<I", 5: "<i", 6: "<f", 7: "<?", 10: "<Q", 11: "<q", 12: "<d"}
_STRING, _ARRAY = 8, 9
_FILE_TYPES = {0: "F32", 1: "F16", 2: "Q4_0", 3: "Q4_1", 7: "Q8_0", 14: "Q4_K_S", 15: "Q4_K_M", 18: "Q6_K"}


@dataclass(frozen=True)
class GgufFacts:
    """Pairs without arrays, and the number of weights."""

    pairs: dict[str, object]
    weights: int

    def text(self, key: str, default: str = "") -> str:
        """Return a pair as text."""
        return str(self.pairs.get(key, default))

    @property
    def quantization(self) -> str:
        """The name of the file type."""
        return _FILE_TYPES.get(int(self.text("general.file_type", "-1")), "unknown")

    @property
    def parameter_size(self) -> str:
        """The number of weights as people write it."""
        return f"{self.weights / 1e9:.2f}B" if self.weights >= 10**9 else f"{self.weights / 1e6:.2f}M"


def read_facts(path: Path) -> GgufFacts:
    """Read the head of a GGUF file (version 2 or 3)."""
    with path.open("rb") as file:
        magic, version, tensors, pairs = struct.unpack("<4sIQQ", file.read(24))
        if magic != b"GGUF" or version not in (2, 3):
            raise ValueError(f"expected a GGUF file, got {magic!r} version {version}")
        facts = {}
        for _ in range(pairs):
            key = _string(file)
            value = _value(file, _scalar(file, "<I"))
            if value is not None:
                facts[key] = value
        return GgufFacts(facts, sum(_tensor_size(file) for _ in range(tensors)))


def _scalar(file: BinaryIO, form: str) -> int:
    return struct.unpack(form, file.read(struct.calcsize(form)))[0]


def _string(file: BinaryIO) -> str:
    return file.read(_scalar(file, "<Q")).decode("utf-8", "replace")


def _value(file: BinaryIO, kind: int) -> object:
    if kind == _STRING:
        return _string(file)
    if kind != _ARRAY:
        return _scalar(file, _SCALARS[kind])
    item, count = _scalar(file, "<I"), _scalar(file, "<Q")
    if item in _SCALARS:
        file.seek(count * struct.calcsize(_SCALARS[item]), 1)
    else:
        for _ in range(count):
            _value(file, item)
    return None


def _tensor_size(file: BinaryIO) -> int:
    _string(file)
    dimensions = [_scalar(file, "<Q") for _ in range(_scalar(file, "<I"))]
    file.seek(12, 1)  # type and offset
    return math.prod(dimensions)

# SPDX-License-Identifier: Apache-2.0
"""What all data contracts share: strictness, names, times, digests, findings."""

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from evalsite.canonical.jcs import MAX_SAFE_INTEGER, canonical_bytes
from evalsite.canonical.strictjson import parse_json
from evalsite.errors import InputError, shorten
from evalsite.schema import bounds


def _possible(text: str) -> str:
    """Refuse what has the form of a day or time but is none, such as 31 February."""
    datetime.fromisoformat(text)
    return text


#: UTC, RFC 3339 with ``Z``, whole seconds or milliseconds.
UtcTime = Annotated[
    str,
    StringConstraints(
        pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])T([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](\.[0-9]{3})?Z$"
    ),
    AfterValidator(_possible),
]
#: A calendar day, ``YYYY-MM-DD``.
Day = Annotated[
    str, StringConstraints(pattern=r"^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$"), AfterValidator(_possible)
]
#: ``sha256:`` and 64 hexadecimal digits.
DigestText = Annotated[str, StringConstraints(pattern=r"^sha256:[0-9a-f]{64}$")]
#: Names that become folders: corpora, runs, ledgers.
FolderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9._-]{0,63}$")]
#: Ids of cases, cards and samples; compared without regard to case when a corpus is loaded.
CaseId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
#: Text of an author, bounded and not empty.
Text = Annotated[str, StringConstraints(min_length=1, max_length=bounds.MAX_TEXT_CHARS)]
ShortText = Annotated[str, StringConstraints(min_length=1, max_length=300)]
#: A count; as large as signed bytes can hold (RFC 7493).
Count = Annotated[int, Field(ge=0, le=MAX_SAFE_INTEGER)]


_T = TypeVar("_T")


def _is_null(value: object) -> bool:
    return value is None


#: A field that a format got after its first signed bytes: absent when null, so that older bytes and
#: fingerprints stay as they are. Declared as ``name: Later[int] = None``.
Later = Annotated[_T | None, Field(exclude_if=_is_null)]


class StrictModel(BaseModel):
    """Frozen; unknown fields, silent conversions, NaN and infinity are refused."""

    model_config = ConfigDict(
        frozen=True, strict=True, extra="forbid", allow_inf_nan=False, validate_default=True, protected_namespaces=()
    )

    @classmethod
    def parse(cls, data: bytes, *, max_bytes: int) -> Self:
        """Parse strict JSON bytes into this model.

        Raises:
            InputError: Not strict JSON, or not of this shape; the place is the field's path.
        """
        parse_json(data, max_bytes=max_bytes)  # refuses what pydantic's own JSON reader lets through
        try:
            return cls.model_validate_json(data)
        except ValidationError as exc:
            raise first_error(exc) from exc

    @classmethod
    def from_value(cls, value: object) -> Self:
        """Validate a plain JSON value (of YAML, for instance) as if it had come as JSON.

        Raises:
            InputError: The value has no canonical bytes or not this shape.
        """
        try:
            return cls.model_validate_json(canonical_bytes(value))
        except ValidationError as exc:
            raise first_error(exc) from exc

    def plain(self) -> dict[str, Any]:
        """Return the JSON value of this model (lists, dicts, text, integers, booleans, null)."""
        return self.model_dump(mode="json")

    def to_bytes(self) -> bytes:
        """Return the canonical bytes of this model (RFC 8785)."""
        return canonical_bytes(self.plain())


def place_of(location: tuple[int | str, ...]) -> str:
    """Return a field path such as ``cases[3].input.message`` of a pydantic location."""
    path = ""
    for part in location:
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else str(part)
    return path


def first_error(exc: ValidationError) -> InputError:
    """Return the first violation of a pydantic error as an `InputError` with its place.

    Values are cut; how many further violations there are is told in the message.
    """
    errors = exc.errors(include_url=False, include_context=False)
    first = errors[0]
    more = f" ({len(errors) - 1} more violations)" if len(errors) > 1 else ""
    kind = str(first["type"])
    got = "" if kind == "missing" else f", got {shorten(first['input'], 80)}"
    return InputError(f"{first['msg']}{got}{more}", at=place_of(first["loc"]), rule=f"schema: {kind}")


class Severity(StrEnum):
    """How much a finding weighs."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Finding(StrictModel):
    """One observation of a check over a whole tree."""

    code: str
    severity: Severity
    at: str
    message: str
    rule: str = ""

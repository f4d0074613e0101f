"""JSON out of hostile bytes: an object or a CorruptError, integers as they stand, nothing else escapes."""
from __future__ import annotations

import json
from typing import Any

from ..errors import CorruptError

__all__ = ["parse", "parse_object"]


def _no_constant(name: str):
    raise ValueError(f"{name} is no JSON")


def parse(data: bytes | str, where: str, path: str | None, offset: int | None) -> Any:
    """The value of JSON text. CorruptError naming ``where`` for anything else, also for nesting beyond all reason."""
    try:
        text = data if isinstance(data, str) else data.decode("utf-8")
        return json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise CorruptError(where, path=path, offset=offset, expected="JSON", found=f"{data[:40]!r}: {reason}") from None


def parse_object(data: bytes | str, where: str, path: str | None, offset: int | None) -> dict[str, Any]:
    """The same for an object.

    >>> parse_object(b'{"a":1}', "extras", None, 85)
    {'a': 1}
    """
    value = parse(data, where, path, offset)
    if not isinstance(value, dict):
        raise CorruptError(where, path=path, offset=offset, expected="a JSON object", found=repr(data[:40]))
    return value

"""Table options ``file-index.*``: which indexes to build, and how.

    file-index.<kind>.columns = a, b, attrs[os]       which columns; a key of a MAP column in brackets
    file-index.<kind>.<column>.<option> = value       an option of one column, or of all keys of one MAP column
    file-index.<kind>.<map>[<key>].<option> = value   an option of one key
    file-index.in-manifest-threshold = 500 b          up to this size an index is kept in the manifest

    kind           options
    bloom-filter   items (1000000), fpp (0.1)
    bitmap         version (2), index-block-size (16kb)
    bsi
    range-bitmap   chunk-size (16kb; 0b for BOOLEAN, TINYINT and SMALLINT)

Values mean what they mean to Java Paimon. Options that do not begin with ``file-index.`` belong to other parts of a
table and are not looked at; among those that do, an unknown one is an error.
"""
from __future__ import annotations

import re
from dataclasses import dataclass, field

__all__ = ["IndexPlan", "IndexOptions", "parse_options", "parse_size"]

PREFIX = "file-index."
KINDS = {
    "bloom-filter": ("items", "fpp"),
    "bitmap": ("version", "index-block-size"),
    "bsi": (),
    "range-bitmap": ("chunk-size",),
}
THRESHOLD = "file-index.in-manifest-threshold"
READ_ENABLED = "file-index.read.enabled"          # a reader's option, known so that it is not taken for a mistake
DEFAULT_THRESHOLD = 500

_UNITS = {"": 1, "b": 1, "bytes": 1, "k": 1 << 10, "kb": 1 << 10, "kibibytes": 1 << 10, "m": 1 << 20, "mb": 1 << 20,
          "mebibytes": 1 << 20, "g": 1 << 30, "gb": 1 << 30, "gibibytes": 1 << 30, "t": 1 << 40, "tb": 1 << 40,
          "tebibytes": 1 << 40}
_JAVA_FLOAT = re.compile(r"[+-]?(NaN|Infinity|(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?[fFdD]?)")
_JAVA_SPACE = "".join(map(chr, range(33)))         # what Java's String.trim removes


@dataclass(frozen=True, slots=True)
class IndexPlan:
    """One index to build.

    column : str           column of the schema
    map_key : str | None   the key, for an index on one key of a MAP column
    kind : str             "bloom-filter", "bitmap", "bsi" or "range-bitmap"
    options : dict         option -> parsed value: items int, fpp float, version int, sizes in bytes
    """

    column: str
    map_key: str | None
    kind: str
    options: dict = field(default_factory=dict)

    @property
    def name(self):
        """The entry's name in the file: ``status`` or ``attrs[os]``."""
        return self.column if self.map_key is None else f"{self.column}[{self.map_key}]"


@dataclass(frozen=True, slots=True)
class IndexOptions:
    """What the options of one table ask for.

    plans : tuple[IndexPlan, ...]      in the order of the options; empty when the table has no file index
    in_manifest_threshold : int        bytes
    """

    plans: tuple = ()
    in_manifest_threshold: int = DEFAULT_THRESHOLD

    def is_embedded(self, data):
        """Whether index bytes (or their number) go into the manifest; a larger index gets a file of its own."""
        return (data if isinstance(data, int) else len(data)) <= self.in_manifest_threshold


def parse_size(text):
    """Bytes of a size as Java's MemorySize reads it: ``16kb``, ``16 kb``, ``1gibibytes``, ``500``.

    ValueError for anything else, negative numbers included.

    Example
    -------
    >>> parse_size("16kb")
    16384
    """
    found = re.fullmatch(r"([0-9]+)(.*)", str(text).strip(_JAVA_SPACE), re.S)
    if not found:
        raise ValueError(f"a size such as 16kb was expected, found {text!r}")
    unit = found[2].strip(_JAVA_SPACE).lower()
    if unit not in _UNITS:
        raise ValueError(f"unknown unit {unit!r} in the size {text!r}; known are b, kb, mb, gb and tb")
    size = int(found[1]) * _UNITS[unit]
    if size >= 1 << 63:
        raise ValueError(f"the size {text!r} does not fit into 64 bits")
    return size


def parse_options(options):
    """The indexes that table options ask for, as an :class:`IndexOptions`.

    Parameters
    ----------
    options : Mapping[str, str]   numbers are taken as well as their text

    Raises
    ------
    ValueError   naming the option: an unknown index kind or option, a value that cannot be read, an option of a
                 column that is not indexed, an empty column name

    Example
    -------
    >>> parse_options({"file-index.bitmap.columns": "status"}).plans[0].name
    'status'
    """
    declared = {}                    # (column, map_key) -> {kind: {option: text}}
    for key, value in options.items():
        if key.startswith(PREFIX) and key.endswith(".columns"):
            kind = _kind(key[len(PREFIX):-len(".columns")], key)
            names = str(value).split(",")
            while len(names) > 1 and not names[-1]:    # as Java's split: nothing behind the last comma
                names.pop()
            for name in names:
                name = name.strip(_JAVA_SPACE)
                if not name:
                    raise ValueError(f"option {key!r} has an empty column name in {value!r}")
                declared.setdefault(_split_name(name), {}).setdefault(kind, {})
    threshold = DEFAULT_THRESHOLD
    for_all_keys = []
    for key, value in options.items():
        if not key.startswith(PREFIX) or key.endswith(".columns") or key == READ_ENABLED:
            continue
        if key == THRESHOLD:
            threshold = _value(key, parse_size, value)
            continue
        kind, column, option = _split_option(key, declared)
        if option not in KINDS[kind]:
            known = ", ".join(KINDS[kind]) or "none"
            raise ValueError(f"unknown option {key!r}: a {kind} index has no option {option!r} (known: {known})")
        parsed = _value(key, _PARSERS[option], value)
        target = declared.get(_split_name(column), {}).get(kind)
        if target is not None:
            target[option] = parsed
        else:
            for_all_keys.append((column, kind, option, parsed))
    for column, kind, option, parsed in for_all_keys:
        for (name, map_key), kinds in declared.items():
            if name == column and map_key is not None and kind in kinds:
                kinds[kind].setdefault(option, parsed)
    plans = tuple(IndexPlan(column, map_key, kind, chosen) for (column, map_key), kinds in declared.items()
                  for kind, chosen in kinds.items())
    return IndexOptions(plans, threshold)


def _kind(name, key):
    if name not in KINDS:
        raise ValueError(f"option {key!r}: no file index is called {name!r}; there are {', '.join(KINDS)}")
    return name


def _split_name(name):
    """``attrs[os]`` is key ``os`` of ``attrs``; a name that does not end in a bracket is a plain column."""
    at = name.find("[")
    return (name[:at], name[at + 1:-1]) if at != -1 and name.endswith("]") else (name, None)


def _split_option(key, declared):
    """(kind, column, option) of ``file-index.<kind>.<column>.<option>``; names and keys may hold dots themselves."""
    kind, dot, rest = key[len(PREFIX):].partition(".")
    if not dot:
        raise ValueError(f"unknown option {key!r}")
    column, dot, option = rest.rpartition(".")
    _kind(kind, key)
    if not dot:
        raise ValueError(f"unknown option {key!r}: expected {PREFIX}{kind}.columns or {PREFIX}{kind}.<column>.<option>")
    if not any(kind in kinds and column in (name, f"{name}[{map_key}]")
               for (name, map_key), kinds in declared.items()):
        raise ValueError(f"option {key!r}: column {column!r} is not among {PREFIX}{kind}.columns")
    return kind, column, option


def _value(key, parse, value):
    try:
        return parse(value)
    except ValueError as error:
        raise ValueError(f"option {key!r}: {error}") from None


def _int(text):
    number = int(text) if re.fullmatch(r"[+-]?\d+", str(text)) else None
    if number is None or not -1 << 31 <= number < 1 << 31:
        raise ValueError(f"a 32-bit integer was expected, found {text!r}")
    return number


def _float(text):
    plain = str(text).strip(_JAVA_SPACE)
    if not _JAVA_FLOAT.fullmatch(plain):
        raise ValueError(f"a number was expected, found {text!r}")
    return float(plain if plain[-1] in "Ny" else plain.rstrip("fFdD"))


def _version(text):
    number = _int(text)
    if number not in (1, 2):
        raise ValueError(f"bitmap version 1 or 2 was expected, found {text!r}")
    return number


def _chunk_size(text):
    size = parse_size(text) & 0xffffffff               # Java keeps the low 32 bits, signed
    if size >= 1 << 31:
        raise ValueError(f"the chunk size {text!r} is negative as a 32-bit number")
    return size


_PARSERS = {"items": _int, "fpp": _float, "version": _version, "index-block-size": parse_size,
            "chunk-size": _chunk_size}

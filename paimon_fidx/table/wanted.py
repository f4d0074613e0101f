"""Which indexes each data file should have: the options' columns in the terms of the schema the file was written with.

Options name the table's columns of today. A file of an older schema may have a column under another name, with another
type, or not at all; its index bears the file's own names.
"""
from __future__ import annotations

from dataclasses import replace

from ..build import IndexWriter
from ..core.bloom_filter import size_of
from ..options import THRESHOLD, IndexOptions, parse_options
from ..types import parse_type, refusal

__all__ = ["Wanted", "table_options"]

PREFIX = "file-index."
BLOOM_HEAD_LEN = 4  # the number of hashes, before the bits


def table_options(table, given=None) -> IndexOptions:
    """The parsed ``file-index.*`` options: those given, else the table's own.

    The threshold for embedding is the table's unless it is given. Raises ValueError for what cannot be built.
    """
    own = {key: value for key, value in table.table_schema.options.items() if key.startswith(PREFIX)}
    if given is None:
        chosen = own
    else:
        chosen = {THRESHOLD: own[THRESHOLD]} if THRESHOLD in own else {}
        chosen |= dict(given)
    options = parse_options(chosen)
    if options.plans:
        IndexWriter({f.name: parse_type(_type_of(f)) for f in table.fields}, options)  # checks columns and types
    return options


def _type_of(field):
    return field.to_dict()["type"]


class Wanted:
    """What the files of one schema should have.

    options : IndexOptions     for build_index, with the file's names
    types : dict               {file column: PaimonType} of all columns
    reasons : tuple of str     why an index that the options ask for cannot be in these files
    """

    def __init__(self, options: IndexOptions, table, file_fields, write_cols=None):
        ids = {f.name: f.id for f in table.fields}
        stored = {f.id: f for f in file_fields if write_cols is None or f.name in write_cols}
        self.types = {f.name: parse_type(_type_of(f)) for f in file_fields}
        self.fields = list(file_fields)
        plans, reasons = [], []
        for plan in options.plans:
            field = stored.get(ids[plan.column])
            if field is None:
                reasons.append(f"no column {plan.column}")
                continue
            type_ = self.types[field.name]
            if plan.map_key is not None:
                if type_.root != "MAP":
                    reasons.append(f"{field.name} is no MAP here")
                    continue
                type_ = type_.value
            why = refusal(plan.kind, type_)
            if why is not None:
                reasons.append(f"{field.name}: {why}")
                continue
            plans.append(replace(plan, column=field.name))
        self.options = replace(options, plans=tuple(plans))
        self.reasons = tuple(dict.fromkeys(reasons))

    @property
    def columns(self) -> tuple[str, ...]:
        """The stored columns to read, each once."""
        return tuple(dict.fromkeys(plan.column for plan in self.options.plans))

    @property
    def kinds(self) -> dict:
        """{index entry name: {kind: IndexPlan}}"""
        found = {}
        for plan in self.options.plans:
            found.setdefault(plan.name, {})[plan.kind] = plan
        return found

    def differs(self, index) -> str | None:
        """Why an open FileIndex is not what is wanted; None when it is.

        Bloom filters are compared by their size and number of hashes, bitmaps by their version; block and chunk sizes
        do not change what an index answers.
        """
        wanted, found = self.kinds, index.columns
        missing = [f"{kind} on {name}" for name, kinds in wanted.items() for kind in kinds
                   if kind not in found.get(name, ())]
        unasked = [f"{kind} on {name}" for name, kinds in found.items() for kind in kinds
                   if kind not in wanted.get(name, ())]
        if missing or unasked:
            return "; ".join([f"lacks {', '.join(missing)}"] * bool(missing)
                             + [f"has {', '.join(unasked)}, no longer asked for"] * bool(unasked))
        for name, kinds in wanted.items():
            for kind, plan in kinds.items():
                if self._other_options(index, name, kind, plan):
                    return f"{kind} on {name} was built with other options"
        return None

    def _other_options(self, index, name, kind, plan) -> bool:
        start, length = index.entries(name)[kind]
        if start < 0 or kind not in ("bloom-filter", "bitmap"):
            return False
        type_ = self.types[plan.column]
        reader = index.reader(name, kind, type_ if plan.map_key is None else type_.value)
        if kind == "bitmap":
            return reader.version != plan.options.get("version", 2)
        bit_count, hash_count = size_of(plan.options.get("items", 1_000_000), plan.options.get("fpp", 0.1))
        return (reader.hash_count, length) != (hash_count, BLOOM_HEAD_LEN + (bit_count + 7) // 8)

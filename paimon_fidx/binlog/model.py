"""What a binlog says about itself: data types, event types, descriptor, events. Plain values, no bytes."""
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from enum import IntEnum
from types import MappingProxyType
from typing import Any

__all__ = ["DataType", "Descriptor", "Event", "EventType", "hybrid_datetime", "hybrid_timestamp"]

EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
COUNTER_BITS = 18  # the low bits of a hybrid timestamp count within its millisecond


class DataType(IntEnum):
    """Milvus' codes of field types."""

    NONE = 0
    BOOL = 1
    INT8 = 2
    INT16 = 3
    INT32 = 4
    INT64 = 5
    FLOAT = 10
    DOUBLE = 11
    STRING = 20
    VARCHAR = 21
    ARRAY = 22
    JSON = 23
    GEOMETRY = 24
    TEXT = 25
    TIMESTAMPTZ = 26
    MOL = 27
    BINARY_VECTOR = 100
    FLOAT_VECTOR = 101
    FLOAT16_VECTOR = 102
    BFLOAT16_VECTOR = 103
    SPARSE_FLOAT_VECTOR = 104
    INT8_VECTOR = 105
    ARRAY_OF_VECTOR = 106

    @classmethod
    def of(cls, value: DataType | int | str) -> DataType:
        """From a code or a name in any spelling. ValueError for an unknown one.

        >>> DataType.of("FloatVector").name
        'FLOAT_VECTOR'
        """
        if isinstance(value, str):
            named = {member.name.replace("_", ""): member for member in cls}
            found = named.get(value.replace("_", "").upper())
            if found is None:
                raise ValueError(f"no Milvus data type is called {value!r}")
            return found
        return cls(value)


class EventType(IntEnum):
    """The type code in an event's header."""

    DESCRIPTOR = 0
    INSERT = 1
    DELETE = 2
    CREATE_COLLECTION = 3
    DROP_COLLECTION = 4
    CREATE_PARTITION = 5
    DROP_PARTITION = 6
    INDEX_FILE = 7


def known(kind: type[IntEnum], value: int) -> int:
    """The enumeration's member, or the number itself where it has none."""
    return kind(value) if value in kind._value2member_map_ else value


def hybrid_datetime(timestamp: int) -> datetime | None:
    """The time, UTC, of a hybrid timestamp (milliseconds << 18 | counter); None for 0 and 1, which stand for none.

    >>> hybrid_datetime(445712747724800003)
    datetime.datetime(2023, 11, 17, 22, 13, 20, tzinfo=datetime.timezone.utc)
    """
    milliseconds = timestamp >> COUNTER_BITS
    return EPOCH + timedelta(milliseconds=milliseconds) if milliseconds else None


def hybrid_timestamp(moment: datetime, counter: int = 0) -> int:
    """The hybrid timestamp of a time; a naive one is UTC. Below a millisecond, digits are dropped.

    >>> hybrid_datetime(hybrid_timestamp(datetime(2024, 1, 1))).year
    2024
    """
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    milliseconds = (moment - EPOCH) // timedelta(milliseconds=1)
    if milliseconds < 0 or not 0 <= counter < 1 << COUNTER_BITS:
        raise ValueError(f"no hybrid timestamp for {moment}, counter {counter}")
    return milliseconds << COUNTER_BITS | counter


class _Timed:
    """The hybrid timestamps of a descriptor or an event as datetimes; None where they are none."""

    @property
    def time(self) -> datetime | None:
        """When it was written."""
        return hybrid_datetime(self.timestamp)

    @property
    def start_time(self) -> datetime | None:
        return hybrid_datetime(self.start_timestamp)

    @property
    def end_time(self) -> datetime | None:
        return hybrid_datetime(self.end_timestamp)


@dataclass(frozen=True)
class Descriptor(_Timed):
    """The first event of a binlog. Ids are -1 where a writer did not set them; timestamps are hybrid, except in index
    files of Milvus' Go writer, where they are nanoseconds.

    ``length`` and ``next_position`` are the event's, in bytes; ``extras`` a read-only mapping.
    """

    collection_id: int
    partition_id: int
    segment_id: int
    field_id: int
    start_timestamp: int
    end_timestamp: int
    data_type: int  # a DataType where the code is known
    extras: Mapping[str, Any]
    timestamp: int
    length: int
    next_position: int

    @property
    def nullable(self) -> bool:
        return self.extras.get("nullable") is True

    @property
    def original_size(self) -> int | None:
        """Bytes of the data in memory, as the writer counted them; None where it does not say."""
        text = self.extras.get("original_size")
        return int(text) if isinstance(text, str) and text.isascii() and text.isdigit() and len(text) < 20 else None

    def __reduce__(self):  # a mapping proxy does not pickle
        return _descriptor, (*(getattr(self, name) for name in self.__dataclass_fields__ if name != "extras"),
                             dict(self.extras))


def _descriptor(*values):
    names = [name for name in Descriptor.__dataclass_fields__ if name != "extras"]
    return Descriptor(**dict(zip(names, values)), extras=MappingProxyType(values[-1]))


@dataclass(frozen=True)
class Event(_Timed):
    """A data event. ``offset`` is where it starts in the file, ``length`` its bytes with header and payload."""

    type: int  # an EventType
    offset: int
    length: int
    next_position: int
    timestamp: int
    start_timestamp: int
    end_timestamp: int

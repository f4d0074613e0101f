from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from paimon_fidx.core.cursor cimport Cursor, Source, View
from paimon_fidx.core.keys cimport Key, Keys
from paimon_fidx.core.roaring cimport RowsWriter

cdef struct Entry:
    int64_t off                # in the bitmap area; negative: the single row -1 - off
    int64_t len                # bytes; -1: not stored, up to `most`
    int64_t most               # bytes from off to the next bitmap or the segment's end

cdef struct Block:             # of V2's secondary index
    Key key                    # its first key
    int64_t at                 # segment offset
    int64_t len                # bytes, entry_count included

cdef class Entries:
    """Entries gathered for an answer."""
    cdef Entry* items
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef int add(self, const Entry* entry) except -1
    cdef Py_ssize_t singles_first(self) noexcept nogil
    cdef int64_t next_off(self, int64_t off, int64_t end) noexcept nogil

cdef struct V1Entry:
    Key key
    Entry entry

cdef class Reader:
    cdef Source source
    cdef object where
    cdef readonly Py_ssize_t start
    cdef readonly Py_ssize_t length
    cdef readonly int version
    cdef readonly int64_t row_count
    cdef readonly int64_t entry_count
    cdef readonly bint has_null
    cdef int kind
    cdef Entry null_entry
    cdef int64_t bitmaps_at    # segment offset of the bitmap area
    cdef Block* blocks
    cdef Py_ssize_t block_count
    cdef V1Entry* sorted_entries
    cdef list held             # views the tables point into
    cdef list checked          # V2: per block its view once its keys were checked, or None
    cdef int _open_v1(self, Cursor cursor) except -1
    cdef int _open_v2(self, Cursor cursor) except -1
    cdef int key(self, Cursor cursor, Key* out, object name) except -1
    cdef Py_ssize_t entry_at(self, const uint8_t* p, Py_ssize_t left, Key* key, Entry* entry) noexcept nogil
    cdef View block(self, Py_ssize_t i)
    cdef int gather(self, Keys keys, Entries out) except -1
    cdef int gather_v1(self, Keys keys, Entries out) except -1
    cdef int gather_block(self, Py_ssize_t i, Keys keys, Py_ssize_t* r, Entries out) except -1
    cdef int write(self, Entries entries, bint negate, bint all_rows, RowsWriter out) except -1
    cdef object _rows_of(self, const Entry* entry)

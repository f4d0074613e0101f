"""Bit-sliced index of one numeric column.

    at   type    name           rule                                                          big-endian
    0    u8      version        1
    1    be32    row_count      rows of the data file, NULL ones included
    5    u8      has_positive   0 or 1: values >= 0
         part    positive       if has_positive
         u8      has_negative   0 or 1: values < 0, stored by magnitude
         part    negative       if has_negative

    part
    0    u8      version        1
    1    be64    min            0 <= min <= max; Java writes 0
    9    be64    max
    17   roaring ebm            existence bitmap: rows with such a value
         be32    slice_count    0 to 63, enough bits for max - min
         roaring slices         slice_count x, from bit 0 up: rows whose (magnitude - min) has the bit

Roaring bitmaps are little-endian and delimit themselves; nothing follows the last part. NULL rows are in neither ebm.
"""
cimport cython
from libc.stdint cimport INT64_MAX, INT64_MIN, int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy

from paimon_fidx.core.buffers cimport Arena, Output
from paimon_fidx.core.columns cimport KeyColumn
from paimon_fidx.core.cursor cimport Cursor, Source, View, be64, put_be32, put_be64
from paimon_fidx.core.keys cimport BYTES, Keys
from paimon_fidx.core.planes cimport Planes, bit_length, build_kernels
from paimon_fidx.core.roaring cimport Fault, RowsWriter, parse, raise_fault
from paimon_fidx.core.ranking cimport code_counts, top
from paimon_fidx.core.slices cimport CodeRange, Slices, existence, select

from pyroaring import BitMap

cdef enum:
    VERSION = 1
    PART_HEAD = 17             # version, min, max
    SLICE_COUNT_MOST = 63


@cython.final
cdef class Reader:
    """Rows by value: equality and order of numbers, dates, times, timestamps and decimals of up to 64 bits.

    The segment is read at once: slices carry no lengths, so each must be walked to find the next.
    """

    def __cinit__(self, Source source not None, Py_ssize_t start, Py_ssize_t length, str key_kind, where="bsi"):
        cdef Cursor cursor = Cursor.__new__(Cursor)
        cdef int64_t version
        self.source = source
        self.where = where
        cursor.source = source
        cursor.where = where
        cursor.view = source.read(start, length, where)
        version = cursor.u8("version")
        if version != VERSION:
            raise source.unsupported(f"{where}.version", start, VERSION, version)
        self.row_count = cursor.count32("row_count", 0x7FFFFFFF)
        if self._flag(cursor, "has_positive"):
            self.positive = self._part(cursor, "positive", &self.positive_min, &self.positive_max)
        if self._flag(cursor, "has_negative"):
            self.negative = self._part(cursor, "negative", &self.negative_min, &self.negative_max)
        if cursor.pos != length:
            raise source.corrupt(f"{where}.end", start + cursor.pos, "nothing more", f"{length - cursor.pos} bytes")

    def _flag(self, Cursor cursor, name):
        value = cursor.u8(name)
        if value > 1:
            raise self.source.corrupt(f"{self.where}.{name}", cursor.view.at + cursor.pos - 1, "0 or 1", value)
        return value == 1

    cdef Slices _part(self, Cursor cursor, object sign, int64_t* least, int64_t* most):
        cdef Slices part = Slices.__new__(Slices)
        cdef Fault fault
        cdef Py_ssize_t used, at
        cdef int64_t version, i
        cdef View view = cursor.view
        cursor.where = where = f"{self.where}.{sign}"
        version = cursor.u8("version")
        if version != VERSION:
            raise self.source.unsupported(f"{where}.version", view.at + cursor.pos - 1, VERSION, version)
        cursor.need(16, "min")
        least[0] = <int64_t> be64(view.data + cursor.pos)
        most[0] = <int64_t> be64(view.data + cursor.pos + 8)
        if least[0] < 0 or most[0] < least[0]:
            raise self.source.corrupt(f"{where}.min", view.at + cursor.pos, "0 <= min <= max", (least[0], most[0]))
        cursor.pos += 16
        part.row_count = self.row_count
        part.owner = view.owner
        part.source = self.source
        part.where = where
        part.at = view.at + cursor.pos
        at = cursor.pos
        used = parse(view.data + at, view.size - at, self.row_count, part.pool, &part.ebm, &fault)
        if used < 0:
            raise_fault(self.source, f"{where}.ebm", view.at + at, &fault)
        cursor.pos += used
        part.slice_count = <int> cursor.count32("slice_count", SLICE_COUNT_MOST)
        if <uint64_t> (most[0] - least[0]) > part.max_code():
            raise self.source.corrupt(f"{where}.slice_count", view.at + cursor.pos - 4,
                                      f"enough bits for max - min = {most[0] - least[0]}", part.slice_count)
        for i in range(part.slice_count):
            at = cursor.pos
            used = parse(view.data + at, view.size - at, self.row_count, part.pool, &part.slices[i], &fault)
            if used < 0:
                raise_fault(self.source, f"{where}.slice[{i}]", view.at + at, &fault)
            cursor.pos += used
        cursor.where = self.where
        return part

    def select(self, Keys keys not None, bint negate=False):
        """Rows whose value lies in ``keys``, or with ``negate`` the rows that have a value outside; a BitMap."""
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        cdef CodeRange* ranges = <CodeRange*> malloc((2 * keys.count + 1) * sizeof(CodeRange))
        cdef CodeRange* negatives = ranges + keys.count
        cdef Py_ssize_t i, n = 0, m = 0
        cdef int64_t lo, hi
        if ranges == NULL:
            raise MemoryError()
        try:
            for i in range(keys.count):
                lo = max(keys.lo[i].value, <int64_t> 0)
                hi = keys.hi[i].value
                if lo <= hi:
                    n += _codes(lo, hi, self.positive_min, self.positive_max, &ranges[n])
            for i in range(keys.count - 1, -1, -1):     # magnitudes ascend as the values fall
                lo = keys.lo[i].value
                hi = min(keys.hi[i].value, <int64_t> -1)
                if lo <= hi and hi != INT64_MIN:         # no index holds -2**63
                    m += _codes(-hi, -lo if lo != INT64_MIN else INT64_MAX, self.negative_min, self.negative_max,
                                &negatives[m])
            if self.positive is not None:
                select(self.positive, ranges, n, self.negative, negatives, m, negate, out)
            elif self.negative is not None:
                select(self.negative, negatives, m, None, NULL, 0, negate, out)
        finally:
            free(ranges)
        return out.finish()

    def value_rows(self, bint absent=False):
        """Rows that have a value, or with ``absent`` the NULL rows; a BitMap."""
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        cdef Slices nothing
        if self.positive is not None:
            existence(self.positive, self.negative, absent, out)
        elif self.negative is not None:
            existence(self.negative, None, absent, out)
        elif absent:
            nothing = Slices.__new__(Slices)
            existence(nothing, None, True, out)
        return out.finish()

    def top(self, uint64_t k, bint largest, selection=None, bint ties=False):
        """The k rows with the largest (or smallest) values; a BitMap. ``selection``: a BitMap to choose from."""
        cdef uint64_t found = 0
        rows = None
        for part, flip in (((self.positive, False), (self.negative, True)) if largest else
                           ((self.negative, True), (self.positive, False))):
            if part is None or found >= k:
                continue
            more = self._top(part, k - found, largest != flip, selection, ties)
            rows = more if rows is None else rows | more
            found = len(rows)
        return BitMap() if rows is None else rows

    cdef object _top(self, Slices part, uint64_t k, bint largest, object selection, bint ties):
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        cdef uint64_t found
        top(part, k, largest, selection, ties, out, &found)
        return out.finish()

    def counts(self, selection=None):
        """{value: number of rows}; values as integers."""
        cdef dict counts = {}
        if self.negative is not None:
            for code, n in code_counts(self.negative, selection).items():
                counts[-(code + self.negative_min)] = n
        if self.positive is not None:
            for code, n in code_counts(self.positive, selection).items():
                counts[code + self.positive_min] = n
        return counts


cdef int _codes(int64_t lo, int64_t hi, int64_t least, int64_t most, CodeRange* out) noexcept nogil:
    """The codes of magnitudes lo to hi; returns 0 when the index has none of them."""
    if lo > most or hi < least:
        return 0
    out.lo = <uint64_t> (lo - least) if lo > least else 0
    # Up to the largest value: no upper bound, so that such a range needs no upper comparison.
    out.hi = <uint64_t> (hi - least) if hi < most else ~<uint64_t> 0
    return 1


@cython.final
cdef class Writer:
    """Writes the slices of one column of whole numbers."""

    def write(self, KeyColumn column not None, Output out not None):
        """Appends the index. ValueError for -2**63, which the format cannot hold."""
        cdef int64_t least = 0, most = 0
        cdef int32_t low = 0, high = 0
        cdef uint64_t deepest
        cdef int positive_slices, negative_slices, slices
        cdef Py_ssize_t words = (column.row_count + 63) >> 6, i
        cdef Arena arena = Arena()
        cdef Planes planes
        cdef uint64_t* signs = NULL
        cdef uint64_t* rows
        with nogil:
            if column.wide != NULL:
                build_kernels().extremes64(column.wide, column.row_count, &least, &most)
            else:
                build_kernels().extremes32(column.narrow, column.row_count, &low, &high)
                least, most = low, high
        if least < -0x7fffffffffffffff:
            raise ValueError(f"column {column.label!r}: a bsi index cannot hold {least}")
        least, most = min(least, 0), max(most, 0)
        deepest = <uint64_t> -least
        positive_slices, negative_slices = bit_length(most), bit_length(deepest)
        slices = max(positive_slices, negative_slices)
        planes = Planes(column.row_count, slices + 1)      # the last one is the existence bitmap
        if least < 0:
            signs = <uint64_t*> arena.take(8 * words)
        rows = planes.plane(slices)
        with nogil:
            if column.wide != NULL:
                planes.slice_wide(column.wide, slices, signs)
            else:
                planes.slice_narrow(column.narrow, slices, signs)
            out.ensure(7)
            out.base[out.used] = VERSION
            put_be32(out.base + out.used + 1, <uint32_t> column.row_count)
            out.used += 5
            planes.set_rows(slices, column.valid)
            if signs != NULL:
                for i in range(words):
                    rows[i] &= ~signs[i]
            self.write_part(planes, rows if signs != NULL else NULL, most, positive_slices, out)
            if signs != NULL:
                memcpy(rows, signs, 8 * words)
            self.write_part(planes, signs, deepest, negative_slices if signs != NULL else -1, out)

    cdef int write_part(self, Planes planes, const uint64_t* mask, uint64_t most, int slices,
                        Output out) except -1 nogil:
        """One part: a flag and, where it has rows, its slices. Values of the other side are masked out."""
        cdef Py_ssize_t i, length, last = planes.plane_count - 1, words = planes.plane_len
        cdef uint8_t* base
        out.ensure(1)
        if slices < 0 or build_kernels().count_bits(planes.plane(last), words) == 0:
            out.base[out.used] = 0
            out.used += 1
            return 0
        length = planes.measure(last, NULL)
        for i in range(slices):
            length += planes.measure(i, mask)
        out.ensure(1 + PART_HEAD + length + 4)
        base = out.base + out.used
        base[0] = 1
        base[1] = VERSION
        put_be64(base + 2, 0)                              # Java's minimum is always 0
        put_be64(base + 10, most)
        out.used += 1 + PART_HEAD
        planes.write(last, NULL, out)
        put_be32(out.base + out.used, <uint32_t> slices)
        out.used += 4
        for i in range(slices):
            planes.write(i, mask, out)
        return 0

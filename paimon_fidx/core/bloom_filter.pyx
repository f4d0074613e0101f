"""Bloom filter of one column.

    at   type    name         rule
    0    be32    hash_count   1 to the number of bits
    4    bytes   bits         at least one byte; bit i is byte i >> 3, mask 1 << (i & 7)

A key's 64-bit hash h (Thomas Wang's for fixed widths, XXH64 with seed 0 for bytes) probes, with h1 its low and h2 its
high half as signed 32-bit numbers, the positions abs1(h1 + i * h2) % bit_count for i = 1 to hash_count, in wrapping
32-bit arithmetic, where abs1(c) is c for c >= 0 and ~c otherwise. Floating-point keys are hashed by their bits, NaN as
the canonical one; timestamps by milliseconds (precision up to 3) or microseconds. NULL is not in the filter.
"""
cimport cython
import math

from cpython.bytes cimport PyBytes_FromStringAndSize
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from libc.string cimport memset

from paimon_fidx.core.buffers cimport Output
from paimon_fidx.core.columns cimport BytesChunk, KeyColumn, bytes_at
from paimon_fidx.core.cursor cimport Source, View, be32s, put_be32
from paimon_fidx.core.hashing cimport wang64, xxh64
from paimon_fidx.core.keys cimport BOOL, BYTES, FLOAT32, FLOAT64, Key, Keys, is_single, kind_code
from paimon_fidx.core.planes cimport FIDX_BATCH, build_kernels, fidx_divide_by, fidx_divisor

from xxhash import xxh64_intdigest

cdef enum:
    HEAD = 4
    # A filter up to this size is read whole: one request. Probing a larger one reads only the bytes that are asked.
    WHOLE = 65536
    # A range of keys is probed key by key up to this many; beyond, a filter would say "maybe" anyway.
    MOST_PROBES = 1024


cdef uint64_t _bits(int kind, int64_t value) noexcept nogil:
    """What Java hashes for a sortable key: the number itself, the IEEE bits (sign-extended from 32) for floats."""
    if kind == FLOAT32 and value < 0:
        return <uint64_t> <int64_t> <int32_t> (<uint32_t> value ^ 0x7FFFFFFF)
    if kind == FLOAT64 and value < 0:
        return <uint64_t> value ^ <uint64_t> 0x7FFFFFFFFFFFFFFFull
    return <uint64_t> value


@cython.final
cdef class Reader:
    """Answers "surely not" or "maybe" for keys.

    Raises TruncatedError or CorruptError for a segment without bits or with an impossible hash count.
    """

    def __cinit__(self, Source source not None, Py_ssize_t start, Py_ssize_t length, str key_kind, where="bloom-filter"):
        cdef View head
        self.source = source
        self.where = where
        self.start = start
        self.length = length
        self.kind = kind_code(key_kind)
        if length < HEAD + 1:
            raise source.truncated(f"{where}.bits", start, f"at least {HEAD + 1} bytes", length)
        head = source.read(start, length if length <= WHOLE else HEAD, where)
        self.hash_count = be32s(head.data)
        self.bit_count = <uint64_t> (length - HEAD) * 8
        if self.hash_count < 1 or <uint64_t> self.hash_count > self.bit_count:
            raise source.corrupt(f"{where}.hash_count", start, f"1 to {self.bit_count}", self.hash_count)
        if self.bit_count > 0x7FFFFFFF:
            raise source.corrupt(f"{where}.bits", start + HEAD, "fewer than 2**31 bits", self.bit_count)

    cdef bint test(self, uint64_t hash) except -1:
        cdef View view
        cdef int i
        cdef uint32_t position
        if self.length <= WHOLE or self.source.in_memory:
            view = self.source.read(self.start, self.length, self.where)
            return probe(view.data + HEAD, <uint32_t> self.bit_count, self.hash_count, hash)
        for i in range(1, self.hash_count + 1):
            position = bit_position(hash, i, <uint32_t> self.bit_count)
            view = self.source.read(self.start + HEAD + (position >> 3), 1, self.where)
            if not view.data[0] >> (position & 7) & 1:
                return False
        return True

    def may_contain_any(self, hashes):
        """False when surely no key was seen; ``hashes`` are those of the keys (`key_hashes`), None for too many."""
        if hashes is None:
            return True
        for hash in hashes:
            if self.test(hash):
                return True
        return False


cdef bint probe(const uint8_t* bits, uint32_t bit_count, int hash_count, uint64_t hash) noexcept nogil:
    """Whether all bits of the hash are set."""
    cdef int i
    cdef uint32_t position
    for i in range(1, hash_count + 1):
        position = bit_position(hash, i, bit_count)
        if not bits[position >> 3] >> (position & 7) & 1:
            return False
    return True


def key_hashes(Keys keys not None):
    """The hashes a filter is asked for: a list of ints, or None where ``keys`` are no countable set.

    A range of integers is asked key by key, up to 1,024 of them: beyond, a filter says "maybe" anyway.

    >>> key_hashes(Keys("int32", ((7, 7),))) == key_hashes(Keys("int64", ((7, 7),)))
    True
    """
    cdef Py_ssize_t i
    cdef int64_t value
    cdef uint64_t probes = 0
    if keys.has_like:
        return None
    for i in range(keys.count):
        if keys.kind == BYTES:
            if not is_single(BYTES, &keys.lo[i], &keys.hi[i], keys.unbounded and i == keys.count - 1):
                return None
        elif keys.lo[i].value != keys.hi[i].value:
            if <uint64_t> keys.hi[i].value - <uint64_t> keys.lo[i].value >= MOST_PROBES - probes:
                return None
            probes += <uint64_t> keys.hi[i].value - <uint64_t> keys.lo[i].value + 1
    hashes = []
    for i in range(keys.count):
        if keys.kind == BYTES:
            hashes.append(xxh64_intdigest(PyBytes_FromStringAndSize(<const char*> keys.lo[i].data, keys.lo[i].size)))
            continue
        value = keys.lo[i].value
        while True:
            hashes.append(wang64(_bits(keys.kind, value)))
            if value == keys.hi[i].value:
                break
            value += 1
    return hashes


def size_of(int items, double fpp):
    """(bit_count, hash_count) of a filter for ``items`` keys with ``fpp`` false positives, in Java's arithmetic.

    Both are what Java's 32-bit casts make of odd numbers too; ValueError where that leaves no bits at all.

    Example
    -------
    >>> size_of(1_000_000, 0.1)
    (4792536, 3)
    """
    cdef double bits
    cdef int bit_count
    cdef int64_t hashes
    ln2 = math.log(2)
    if fpp > 0:
        log = math.log(fpp)                # of infinity too
    else:
        log = -math.inf if fpp == 0 else math.nan
    bits = -items * log / (ln2 * ln2)
    bit_count = 0 if bits != bits else <int> max(min(bits, 2147483647.0), -2147483648.0)
    bit_count = <int> <uint32_t> (<int64_t> bit_count + 8 - bit_count % 8)     # wraps as Java's int does
    if bit_count < 8:
        raise ValueError(f"items = {items} with fpp = {fpp:g} make a filter of {bit_count} bits")
    bits = bit_count / <double> items * ln2 if items else math.inf
    hashes = 0x7fffffffffffffff if bits >= 9.2e18 else <int64_t> math.floor(bits + 0.5)
    return bit_count, max(1, <int32_t> <uint32_t> <uint64_t> hashes)


@cython.final
cdef class Writer:
    """Writes the filter of one column; ValueError as :func:`size_of`."""
    cdef readonly int bit_count
    cdef readonly int hash_count

    def __init__(self, int items=1_000_000, double fpp=0.1):
        self.bit_count, self.hash_count = size_of(items, fpp)

    def write(self, KeyColumn column not None, Output out not None):
        """Appends the filter of the keys that are not NULL."""
        cdef Py_ssize_t length = HEAD + self.bit_count // 8, i
        cdef uint8_t* base
        out.ensure(length)
        base = out.base + out.used
        with nogil:
            put_be32(base, <uint32_t> self.hash_count)
            memset(base + HEAD, 0, length - HEAD)
            if column.kind == BYTES:
                self.add_bytes(column, base + HEAD)
            else:
                self.add_numbers(column, base + HEAD)
        out.used += length

    cdef void add_numbers(self, KeyColumn column, uint8_t* bits) noexcept nogil:
        cdef uint64_t[FIDX_BATCH] hashes
        cdef int32_t[FIDX_BATCH] narrow
        cdef int64_t[FIDX_BATCH] wide
        cdef fidx_divisor divisor = fidx_divide_by(<uint32_t> self.bit_count)
        cdef Py_ssize_t at = 0, i, size
        while at < column.row_count:
            size = min(column.row_count - at, <Py_ssize_t> FIDX_BATCH)
            if column.kind == FLOAT64:
                for i in range(size):
                    wide[i] = <int64_t> _bits(FLOAT64, column.wide[at + i])
                build_kernels().hash64(&wide[0], size, hashes)
            elif column.kind == FLOAT32:
                for i in range(size):
                    narrow[i] = <int32_t> _bits(FLOAT32, column.narrow[at + i])
                build_kernels().hash32(&narrow[0], size, hashes)
            elif column.wide != NULL:
                build_kernels().hash64(column.wide + at, size, hashes)
            else:
                build_kernels().hash32(column.narrow + at, size, hashes)
            build_kernels().set_positions(hashes, keep_valid(hashes, size, column.valid, at), self.hash_count, &divisor,
                                          bits)
            at += size

    cdef void add_bytes(self, KeyColumn column, uint8_t* bits) noexcept nogil:
        cdef uint64_t[FIDX_BATCH] hashes
        cdef fidx_divisor divisor = fidx_divide_by(<uint32_t> self.bit_count)
        cdef BytesChunk* chunk
        cdef Py_ssize_t c, i, slot, row = 0, count = 0, size = 0
        cdef const uint8_t* data = NULL
        for c in range(column.chunk_count):
            chunk = column.chunks + c
            for i in range(chunk.row_count):
                if column.valid == NULL or column.valid[(row + i) >> 6] >> ((row + i) & 63) & 1:
                    slot = chunk.first + i if chunk.index == NULL else chunk.index[i]
                    bytes_at(chunk, slot, &data, &size)
                    hashes[count] = xxh64(data, size)
                    count += 1
                    if count == FIDX_BATCH:
                        build_kernels().set_positions(hashes, count, self.hash_count, &divisor, bits)
                        count = 0
            row += chunk.row_count
        build_kernels().set_positions(hashes, count, self.hash_count, &divisor, bits)


cdef Py_ssize_t keep_valid(uint64_t* hashes, Py_ssize_t count, const uint64_t* valid, Py_ssize_t row) noexcept nogil:
    """Drops the hashes of NULL rows; returns how many stay."""
    cdef Py_ssize_t i, kept = 0
    if valid == NULL:
        return count
    for i in range(count):
        hashes[kept] = hashes[i]
        kept += valid[(row + i) >> 6] >> ((row + i) & 63) & 1
    return kept

"""Rows to serialized Roaring bitmaps, without a bitmap being built row by row.

Two ways in: dense bit planes, made from 64 keys at a time by transposing their bits, and ascending row lists. Both give
the bytes of the portable form laid out in roaring.pyx, with the container kinds Java's RoaringBitmap has after
``runOptimize`` when rows were added one by one:

    cardinality     2 + 4 * run_count bytes    container
    any             fewer than the other       runs
    up to 4096      otherwise                  array, 2 * cardinality bytes
    more            otherwise                  bitset, 8,192 bytes
"""
import os

from libc.string cimport memcpy, memset

cimport cython

from paimon_fidx.core.cursor cimport put_le16, put_le32
from paimon_fidx.core.roaring cimport ARRAY_MOST, CHUNK_BYTES, CHUNK_WORDS, COOKIE_PLAIN, COOKIE_RUNS, OFFSETS_FROM

cdef extern from "build_kernels.h" nogil:
    const fidx_build_set* fidx_choose_build(const char*)

cdef const fidx_build_set* _kernels = NULL


def _choose(name=None):
    """Selects the kernels: the best this processor runs, or ``"baseline"`` / ``"avx2"`` for tests. Returns the name."""
    global _kernels
    wanted = None if name is None else name.encode()
    _kernels = fidx_choose_build(NULL if wanted is None else <const char*> wanted)
    return _kernels.name.decode()


_choose(os.environ.get("PAIMON_FIDX_KERNELS"))


cdef const fidx_build_set* build_kernels() noexcept nogil:
    return _kernels


cdef inline Py_ssize_t plain_len(uint32_t cardinality) noexcept nogil:
    return 2 * <Py_ssize_t> cardinality if cardinality <= ARRAY_MOST else CHUNK_BYTES


cdef inline Py_ssize_t runs_len(uint32_t run_count) noexcept nogil:
    return 2 + 4 * <Py_ssize_t> run_count


cdef inline bint as_runs(uint32_t cardinality, uint32_t run_count) noexcept nogil:
    return runs_len(run_count) < plain_len(cardinality)


cdef Py_ssize_t serialized_len(const uint32_t* cardinality, const uint32_t* run_count,
                               Py_ssize_t chunks) noexcept nogil:
    cdef Py_ssize_t i, containers = 0, body = 0
    cdef bint any_run = False
    for i in range(chunks):
        if cardinality[i]:
            containers += 1
            if as_runs(cardinality[i], run_count[i]):
                any_run = True
                body += runs_len(run_count[i])
            else:
                body += plain_len(cardinality[i])
    if not any_run:
        return 8 + 8 * containers + body
    return 4 + (containers + 7) // 8 + 4 * containers + (4 * containers if containers >= OFFSETS_FROM else 0) + body


cdef void fill_rows(uint64_t* plane, Py_ssize_t row_count) noexcept nogil:
    """Sets every row."""
    cdef Py_ssize_t words = (row_count + 63) >> 6
    memset(plane, 255, 8 * words)
    if row_count & 63:
        plane[words - 1] = (<uint64_t> 1 << (row_count & 63)) - 1


@cython.final
cdef class Planes:
    def __cinit__(self, Py_ssize_t row_count, Py_ssize_t plane_count):
        self.arena = Arena()
        self.row_count = row_count
        self.plane_count = plane_count
        self.plane_len = (row_count + 63) >> 6
        self.chunk_count = (self.plane_len + CHUNK_WORDS - 1) // CHUNK_WORDS
        self.words = <uint64_t*> self.arena.take(8 * self.plane_len * plane_count)
        self.cardinality = <uint32_t*> self.arena.take(4 * self.chunk_count * plane_count)
        self.run_count = <uint32_t*> self.arena.take(4 * self.chunk_count * plane_count)

    cdef uint64_t* plane(self, Py_ssize_t i) noexcept nogil:
        return self.words + i * self.plane_len

    cdef int slice_narrow(self, const int32_t* values, int slice_count, uint64_t* signs) except -1 nogil:
        """Fills the first planes with the bits of the values; with ``signs``, of the magnitudes, the signs apart."""
        if signs == NULL:
            _kernels.slice32(values, self.row_count, slice_count, self.words, self.plane_len)
        else:
            _kernels.slice_signed32(values, self.row_count, slice_count, self.words, self.plane_len, signs)
        return 0

    cdef int slice_wide(self, const int64_t* values, int slice_count, uint64_t* signs) except -1 nogil:
        if signs == NULL:
            _kernels.slice64(values, self.row_count, slice_count, self.words, self.plane_len)
        else:
            _kernels.slice_signed64(values, self.row_count, slice_count, self.words, self.plane_len, signs)
        return 0

    cdef void clear(self) noexcept nogil:
        memset(self.words, 0, 8 * self.plane_len * self.plane_count)

    cdef void set_rows(self, Py_ssize_t i, const uint64_t* valid) noexcept nogil:
        """Plane ``i`` becomes the rows in ``valid``, or all of them where it is NULL."""
        if valid == NULL:
            fill_rows(self.plane(i), self.row_count)
        elif self.plane_len:
            memcpy(self.plane(i), valid, 8 * self.plane_len)

    cdef void complement(self, Py_ssize_t i) noexcept nogil:
        cdef Py_ssize_t w
        for w in range(self.plane_len):
            self.plane(i)[w] = ~self.plane(i)[w]
        if self.row_count & 63:
            self.plane(i)[self.plane_len - 1] &= (<uint64_t> 1 << (self.row_count & 63)) - 1

    cdef Py_ssize_t first_row(self, Py_ssize_t i) noexcept nogil:
        """The lowest row of a plane that has one."""
        cdef Py_ssize_t w = 0
        while self.plane(i)[w] == 0:
            w += 1
        return w << 6 | lowest_bit(self.plane(i)[w])

    cdef Py_ssize_t measure(self, Py_ssize_t i, const uint64_t* mask) noexcept nogil:
        """Bytes that plane ``i`` (the rows of it that are in ``mask``, where one is given) will take."""
        cdef Py_ssize_t chunk, at, size
        cdef uint32_t* cardinality = self.cardinality + i * self.chunk_count
        cdef uint32_t* run_count = self.run_count + i * self.chunk_count
        for chunk in range(self.chunk_count):
            at = chunk * CHUNK_WORDS
            size = min(self.plane_len - at, <Py_ssize_t> CHUNK_WORDS)
            _kernels.measure(self.plane(i) + at, mask + at if mask != NULL else NULL, size,
                             cardinality + chunk, run_count + chunk)
        return serialized_len(cardinality, run_count, self.chunk_count)

    cdef Py_ssize_t length(self, Py_ssize_t i) noexcept nogil:
        """Bytes of plane ``i`` as it was measured last."""
        cdef Py_ssize_t first = i * self.chunk_count
        return serialized_len(self.cardinality + first, self.run_count + first, self.chunk_count)

    cdef int write(self, Py_ssize_t i, const uint64_t* mask, Output out) except -1 nogil:
        """Appends plane ``i``, measured with the same mask before."""
        cdef Py_ssize_t chunk, at, size, containers = 0, length, w
        cdef uint32_t* cardinality = self.cardinality + i * self.chunk_count
        cdef uint32_t* run_count = self.run_count + i * self.chunk_count
        cdef const uint64_t* words
        cdef uint64_t[CHUNK_WORDS] masked
        cdef bint any_run = False
        cdef uint8_t* base
        cdef uint8_t* flags = NULL
        cdef uint8_t* heads
        cdef uint8_t* offsets = NULL
        cdef uint8_t* body
        length = self.length(i)
        out.ensure(length + FIDX_SLACK)
        base = out.base + out.used
        for chunk in range(self.chunk_count):
            if cardinality[chunk]:
                containers += 1
                any_run = any_run or as_runs(cardinality[chunk], run_count[chunk])
        body = put_head(base, containers, any_run, &flags, &heads, &offsets)
        containers = 0
        for chunk in range(self.chunk_count):
            if cardinality[chunk] == 0:
                continue
            at = chunk * CHUNK_WORDS
            size = min(self.plane_len - at, <Py_ssize_t> CHUNK_WORDS)
            words = self.plane(i) + at
            put_le16(heads + 4 * containers, <uint32_t> chunk)
            put_le16(heads + 4 * containers + 2, cardinality[chunk] - 1)
            if offsets != NULL:
                put_le32(offsets + 4 * containers, <uint32_t> (body - base))
            if mask != NULL and (as_runs(cardinality[chunk], run_count[chunk]) or cardinality[chunk] <= ARRAY_MOST):
                for w in range(size):
                    masked[w] = words[w] & mask[at + w]
                words = masked
            if as_runs(cardinality[chunk], run_count[chunk]):
                flags[containers >> 3] |= <uint8_t> (1 << (containers & 7))
                put_le16(body, run_count[chunk])
                body = put_runs(words, size, body + 2)
            elif cardinality[chunk] <= ARRAY_MOST:
                body = _kernels.put_array(words, size, body)
            else:
                if mask != NULL:
                    put_masked(words, mask + at, size, body)
                else:
                    memcpy(body, words, 8 * size)
                memset(body + 8 * size, 0, CHUNK_BYTES - 8 * size)
                body += CHUNK_BYTES
            containers += 1
        out.used += length
        return 0


cdef inline uint8_t* put_head(uint8_t* base, Py_ssize_t containers, bint any_run, uint8_t** flags, uint8_t** heads,
                              uint8_t** offsets) noexcept nogil:
    """Cookie and counts; returns where the first container goes."""
    cdef uint8_t* at
    if any_run:
        put_le32(base, COOKIE_RUNS | <uint32_t> (containers - 1) << 16)
        flags[0] = base + 4
        memset(flags[0], 0, (containers + 7) >> 3)
        at = base + 4 + ((containers + 7) >> 3)
    else:
        put_le32(base, COOKIE_PLAIN)
        put_le32(base + 4, <uint32_t> containers)
        at = base + 8
    heads[0] = at
    at += 4 * containers
    if not any_run or containers >= OFFSETS_FROM:
        offsets[0] = at
        at += 4 * containers
    return at


cdef void put_masked(const uint64_t* words, const uint64_t* mask, Py_ssize_t count, uint8_t* out) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint64_t word
    for i in range(count):
        word = words[i] & mask[i]
        memcpy(out + 8 * i, &word, 8)


cdef uint8_t* put_runs(const uint64_t* words, Py_ssize_t count, uint8_t* out) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef uint64_t word = words[0]
    cdef uint32_t start, end
    while True:
        while word == 0:
            i += 1
            if i == count:
                return out
            word = words[i]
        start = <uint32_t> (i << 6) | <uint32_t> lowest_bit(word)
        word |= word - 1                   # the bits before the run count as part of it
        while word == ~<uint64_t> 0:
            i += 1
            if i == count:
                break
            word = words[i]
        end = <uint32_t> (count << 6) if i == count else <uint32_t> (i << 6) | <uint32_t> lowest_bit(~word)
        put_le16(out, start)
        put_le16(out + 2, end - 1 - start)
        out += 4
        if i == count:
            return out
        word &= word + 1                   # the run is done: clear it


cdef Py_ssize_t most_list_bytes(Py_ssize_t count) noexcept nogil:
    """What a row list of this length takes at most: every row in a container of its own, or the largest arrays."""
    return 16 + 10 * count


cdef uint8_t* put_row_list(const uint32_t* rows, Py_ssize_t count, uint8_t* out) noexcept nogil:
    """Serializes ascending rows; returns the end."""
    cdef Py_ssize_t i = 0, j, containers = 0
    cdef uint32_t key, runs
    cdef bint any_run = False
    cdef uint8_t* flags = NULL
    cdef uint8_t* heads
    cdef uint8_t* offsets = NULL
    cdef uint8_t* body
    while i < count:
        key = rows[i] >> 16
        runs = 1
        j = i + 1
        while j < count and rows[j] >> 16 == key:
            runs += rows[j] != rows[j - 1] + 1
            j += 1
        containers += 1
        any_run = any_run or as_runs(<uint32_t> (j - i), runs)
        i = j
    body = put_head(out, containers, any_run, &flags, &heads, &offsets)
    i = 0
    containers = 0
    while i < count:
        key = rows[i] >> 16
        runs = 1
        j = i + 1
        while j < count and rows[j] >> 16 == key:
            runs += rows[j] != rows[j - 1] + 1
            j += 1
        put_le16(heads + 4 * containers, key)
        put_le16(heads + 4 * containers + 2, <uint32_t> (j - i - 1))
        if offsets != NULL:
            put_le32(offsets + 4 * containers, <uint32_t> (body - out))
        if as_runs(<uint32_t> (j - i), runs):
            flags[containers >> 3] |= <uint8_t> (1 << (containers & 7))
            put_le16(body, runs)
            body = put_list_runs(rows + i, j - i, body + 2)
        elif j - i <= ARRAY_MOST:
            body = put_list_array(rows + i, j - i, body)
        else:
            body = put_list_bits(rows + i, j - i, body)
        containers += 1
        i = j
    return body


cdef uint8_t* put_list_array(const uint32_t* rows, Py_ssize_t count, uint8_t* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        put_le16(out + 2 * i, rows[i])
    return out + 2 * count


cdef uint8_t* put_list_runs(const uint32_t* rows, Py_ssize_t count, uint8_t* out) noexcept nogil:
    cdef Py_ssize_t i = 0, j
    while i < count:
        j = i + 1
        while j < count and rows[j] == rows[j - 1] + 1:
            j += 1
        put_le16(out, rows[i])
        put_le16(out + 2, <uint32_t> (j - 1 - i))
        out += 4
        i = j
    return out


cdef uint8_t* put_list_bits(const uint32_t* rows, Py_ssize_t count, uint8_t* out) noexcept nogil:
    cdef Py_ssize_t i
    memset(out, 0, CHUNK_BYTES)
    for i in range(count):
        out[(rows[i] & 0xffff) >> 3] |= <uint8_t> (1 << (rows[i] & 7))
    return out + CHUNK_BYTES

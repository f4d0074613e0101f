"""Serialized Roaring bitmaps, read in place: 32-bit portable form (RoaringFormatSpec).

    at   type     name         rule                                                        little-endian
    0    le32     cookie       12346: no run containers, le32 container_count follows (0 to 65,536)
                               low half 12347: container_count = high half + 1, then run_flags
         bits     run_flags    ceil(container_count / 8) bytes, only after 12347; unused bits 0
         pairs    descriptive  container_count x (le16 key, le16 cardinality - 1); keys strictly ascending
         le32[]   offsets      container_count x; absent after 12347 when container_count < 4;
                               each equals where its container starts, counted from the cookie
         ...      containers   in key order, one after the other

    array container    cardinality <= 4096: le16 values, strictly ascending
    bitset container   cardinality > 4096: 8,192 bytes, 1,024 little-endian words
    run container      flagged: le16 run_count, then (le16 start, le16 length - 1) pairs, ascending

`parse` checks everything but container contents and fills a flat table, about a nanosecond a container, once per
bitmap. `fill` turns any container into 1,024 words; a value cannot leave the chunk because it is a uint16, and a run
that would is reported. Rows are only ever emitted through `RowsWriter`, which recounts them and cuts at row_count,
so wrong cardinalities or unsorted arrays in the input cannot reach a result.
"""
cimport cython
import os

from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.buffer cimport PyBUF_READ
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from paimon_fidx.core.cursor cimport Source, View, le16, le32, le64, put_le16, put_le32

from pyroaring import BitMap

cdef extern from * nogil:
    int __builtin_ctzll(unsigned long long)

cdef const fidx_kernel_set* _kernels = NULL


def _choose(name=None):
    """Selects the kernels: the best this processor runs, or ``"baseline"`` / ``"avx2"`` for tests. Returns the name."""
    global _kernels
    wanted = None if name is None else name.encode()
    _kernels = fidx_choose_kernels(NULL if wanted is None else <const char*> wanted)
    return _kernels.name.decode()


KERNELS = _choose(os.environ.get("PAIMON_FIDX_KERNELS"))


cdef const fidx_kernel_set* kernels() noexcept nogil:
    return _kernels


cdef uint32_t chunk_count(uint64_t row_count) noexcept nogil:
    return <uint32_t> ((row_count + 65535) >> 16)


cdef uint32_t chunk_limit(uint64_t row_count, uint32_t key) noexcept nogil:
    """How many rows chunk ``key`` has: 65,536 but in the last one."""
    cdef uint64_t start = <uint64_t> key << 16
    if start >= row_count:
        return 0
    return <uint32_t> min(<uint64_t> 65536, row_count - start)


@cython.final
cdef class Pool:
    def __dealloc__(self):
        free(self.items)

    cdef int reserve(self, uint32_t more) except -1 nogil:
        cdef uint64_t wanted = <uint64_t> self.size + more
        cdef Container* items
        if wanted <= self.capacity:
            return 0
        wanted = max(wanted, <uint64_t> self.capacity * 2)
        items = <Container*> realloc(self.items, wanted * sizeof(Container))
        if items == NULL:
            with gil:
                raise MemoryError()
        self.items = items
        self.capacity = <uint32_t> wanted
        return 0


cdef Py_ssize_t _fault(Fault* fault, const char* name, Py_ssize_t at, const char* rule, long long expected,
                       long long found, bint truncated) noexcept nogil:
    fault.name = name
    fault.at = at
    fault.rule = rule
    fault.expected = expected
    fault.found = found
    fault.truncated = truncated
    return -1


cdef object raise_fault(Source source, object where, Py_ssize_t base, Fault* fault):
    rule = fault.rule.decode()
    expected = rule.format(fault.expected) if "{}" in rule else rule
    make = source.truncated if fault.truncated else source.corrupt
    raise make(f"{where}.{fault.name.decode()}", base + fault.at, expected, fault.found)


cdef Py_ssize_t parse(const uint8_t* data, Py_ssize_t size, uint64_t row_count, Pool pool, Bitmap* out,
                      Fault* fault) except -2 nogil:
    """Reads the header of the bitmap at ``data`` (``size`` bytes at most) into ``pool``.

    Returns the bytes it takes, or -1 with ``fault`` filled. Keys past ``row_count`` are a fault.
    """
    cdef uint32_t cookie, count, i, key, keys_most = chunk_count(row_count)
    cdef Py_ssize_t at, flags = -1, head, body, need
    cdef const uint8_t* offsets = NULL
    cdef int previous = -1
    cdef Container* c
    if size < 4:
        return _fault(fault, "cookie", 0, "4 bytes", 4, size, True)
    cookie = le32(data)
    if cookie & 0xFFFF == COOKIE_RUNS:
        count = (cookie >> 16) + 1
        flags = 4
        at = 4 + (count + 7) // 8
    elif cookie == COOKIE_PLAIN:
        if size < 8:
            return _fault(fault, "container_count", 4, "4 bytes", 4, size - 4, True)
        count = le32(data + 4)
        if count > 65536:
            return _fault(fault, "container_count", 4, "at most 65536", 65536, count, False)
        at = 8
    else:
        return _fault(fault, "cookie", 0, "12346 or 12347", 12346, cookie, False)
    head = at
    body = at + 4 * <Py_ssize_t> count
    if flags < 0 or count >= OFFSETS_FROM:
        body += 4 * <Py_ssize_t> count
    if body > size:
        return _fault(fault, "descriptive", at, "{} bytes of headers", body, size, True)
    if body != at + 4 * <Py_ssize_t> count:
        offsets = data + at + 4 * <Py_ssize_t> count
    if flags >= 0 and count & 7 and data[flags + (count >> 3)] >> (count & 7):
        return _fault(fault, "run_flags", flags + (count >> 3), "unused bits to be 0", 0,
                      data[flags + (count >> 3)], False)
    pool.reserve(count)
    out.first = pool.size
    out.count = count
    at = body
    for i in range(count):
        c = &pool.items[pool.size + i]
        key = le16(data + head + 4 * i)
        c.cardinality = <uint32_t> le16(data + head + 4 * i + 2) + 1
        if <int> key <= previous:
            return _fault(fault, "key", head + 4 * i, "more than {}", previous, key, False)
        if key >= keys_most:
            return _fault(fault, "key", head + 4 * i, "less than {} (row_count / 65536, rounded up)", keys_most, key, False)
        previous = <int> key
        c.key = <uint16_t> key
        c.run_count = 0
        if offsets != NULL and le32(offsets + 4 * i) != at:
            return _fault(fault, "offset", offsets - data + 4 * i, "{}", at, le32(offsets + 4 * i), False)
        c.data = data + at
        if flags >= 0 and data[flags + (i >> 3)] >> (i & 7) & 1:
            c.kind = RUN
            if size - at < 2:
                return _fault(fault, "run_count", at, "2 bytes", 2, size - at, True)
            c.run_count = le16(data + at)
            c.data += 2
            need = 2 + 4 * <Py_ssize_t> c.run_count
        elif c.cardinality <= ARRAY_MOST:
            c.kind = ARRAY
            need = 2 * <Py_ssize_t> c.cardinality
        else:
            c.kind = BITSET
            need = CHUNK_BYTES
        if size - at < need:
            return _fault(fault, "container", at, "{} bytes", need, size - at, True)
        at += need
    pool.size += count
    return at


cdef bint fill(const Container* container, uint64_t* words) noexcept nogil:
    """Writes the container as 1,024 words (aligned). False when a run leaves the chunk."""
    cdef uint32_t i, length, start
    cdef const uint8_t* p = container.data
    cdef bint sound = True
    if container.kind == BITSET:
        memcpy(words, p, CHUNK_BYTES)
        return True
    memset(words, 0, CHUNK_BYTES)
    if container.kind == ARRAY:
        fidx_set_values(words, p, container.cardinality)
        return True
    for i in range(container.run_count):
        start = le16(p + 4 * i)
        length = le16(p + 4 * i + 2)
        if start + length > 65535:
            sound = False
            length = 65535 - start
        fidx_fill_range(words, start, start + length + 1)
    return sound


cdef bint is_full(const Container* container) noexcept nogil:
    """One run over the whole chunk."""
    return (container.kind == RUN and container.run_count == 1 and le16(container.data) == 0
            and le16(container.data + 2) == 65535)


cdef int well_formed(const Container* container, uint32_t limit) noexcept nogil:
    """Ascending values or runs below ``limit`` that add up to the stored cardinality.

    0: they are not. 1: the container may be copied. 2: sound, but runs touch, which CRoaring refuses: to be rewritten.
    """
    cdef uint32_t i, value, length, total = 0, ahead = 0
    cdef bint touching = False
    cdef const uint8_t* p = container.data
    cdef bint ascending = True
    if container.kind == ARRAY:
        value = le16(p)
        for i in range(1, container.cardinality):     # no early exit: this loop vectorizes
            ascending &= le16(p + 2 * i) > le16(p + 2 * i - 2)
        return ascending and le16(p + 2 * (container.cardinality - 1)) < limit
    if container.kind == RUN:
        for i in range(container.run_count):
            value = le16(p + 4 * i)
            length = <uint32_t> le16(p + 4 * i + 2) + 1
            if value < ahead or value + length > limit:
                return 0
            touching |= i > 0 and value == ahead
            ahead = value + length
            total += length
        return 0 if total != container.cardinality else 2 if touching else 1
    return not _rows_beyond(p, limit) and _kernels.popcount(p) == container.cardinality


cdef bint _rows_beyond(const uint8_t* words, uint32_t limit) noexcept nogil:
    """Whether a row at or past ``limit`` is set."""
    cdef uint32_t i
    if limit & 63 and le64(words + 8 * (limit >> 6)) >> (limit & 63):
        return True
    for i in range((limit + 63) >> 6, CHUNK_WORDS):
        if le64(words + 8 * i):
            return True
    return False


@cython.final
cdef class RowsWriter:
    """Rows in ascending chunks -> serialized Roaring bytes -> pyroaring.BitMap.

    The container kind follows what is written: an array up to 4,096 rows, runs where they are smaller, else a bitset.
    """

    def __cinit__(self, uint64_t row_count):
        self.row_count = row_count

    def __dealloc__(self):
        free(self.data)
        free(self.table)

    cdef int ensure(self, size_t more) except -1 nogil:
        cdef size_t wanted
        cdef void* grown
        if self.capacity - self.used < more:
            wanted = max(self.used + more, self.capacity * 2)
            grown = realloc(self.data, wanted)
            if grown == NULL:
                with gil:
                    raise MemoryError()
            self.data = <uint8_t*> grown
            self.capacity = wanted
        if self.count == self.table_capacity:
            wanted = max(<size_t> 16, <size_t> self.table_capacity * 2)
            grown = realloc(self.table, wanted * sizeof(Container))
            if grown == NULL:
                with gil:
                    raise MemoryError()
            self.table = <Container*> grown
            self.table_capacity = <uint32_t> wanted
        return 0

    cdef uint32_t limit(self, uint32_t key) noexcept nogil:
        return chunk_limit(self.row_count, key)

    cdef int put_words(self, uint16_t key, const uint64_t* words) except -1 nogil:
        """Adds the set bits of a chunk. Returns 1 when a row lies at or past row_count (nothing is added then)."""
        cdef uint32_t cardinality = _kernels.popcount(<const uint8_t*> words), limit, runs, most
        cdef Container* c
        if cardinality == 0:
            return 0
        limit = self.limit(key)
        if limit < CHUNK_ROWS and _rows_beyond(<const uint8_t*> words, limit):
            return 1
        self.ensure(CHUNK_BYTES + 8)
        c = &self.table[self.count]
        c.key = key
        c.cardinality = cardinality
        c.run_count = 0
        if cardinality == CHUNK_ROWS:
            return self.put_range(key, 0, CHUNK_ROWS)
        # A few rows are an array whatever their runs; counting runs there would cost more than it saves. More than
        # `most` runs are not smaller, however many there are.
        most = (min(<uint32_t> CHUNK_BYTES, 2 * cardinality) - 3) // 4
        runs = _kernels.run_count(words, most) if cardinality > 32 else most + 1
        if runs <= most:
            c.kind = RUN
            c.run_count = <uint16_t> runs
            put_le16(self.data + self.used, runs)
            fidx_to_runs(words, self.data + self.used + 2)
            c.data = <const uint8_t*> self.used
            self.used += 2 + 4 * runs
            self.any_run = True
        elif cardinality <= ARRAY_MOST:
            c.kind = ARRAY
            c.data = <const uint8_t*> self.used
            self.used += 2 * fidx_to_array(words, self.data + self.used)
        else:
            c.kind = BITSET
            c.data = <const uint8_t*> self.used
            memcpy(self.data + self.used, words, CHUNK_BYTES)
            self.used += CHUNK_BYTES
        self.count += 1
        return 0

    cdef int put_range(self, uint16_t key, uint32_t start, uint32_t end) except -1 nogil:
        """Adds rows [start, end) of a chunk as one run; ``end`` is at most the chunk's limit."""
        cdef Container* c
        if start >= end:
            return 0
        self.ensure(8)
        c = &self.table[self.count]
        c.key = key
        c.kind = RUN
        c.cardinality = end - start
        c.run_count = 1
        c.data = <const uint8_t*> self.used
        put_le16(self.data + self.used, 1)
        put_le16(self.data + self.used + 2, start)
        put_le16(self.data + self.used + 4, end - 1 - start)
        self.used += 6
        self.any_run = True
        self.count += 1
        return 0

    cdef int put_holes(self, uint16_t key, const uint64_t* words, uint32_t hole_count) except -1 nogil:
        """Adds a chunk's rows that are not among the set bits, of which there are at most ``hole_count``, as runs.
        Returns 1 when a set bit lies at or past row_count."""
        cdef uint32_t limit = self.limit(key), i, hole, start = 0, runs = 0, cardinality = 0
        cdef uint64_t word
        cdef uint8_t* out
        cdef Container* c
        if limit < CHUNK_ROWS and _rows_beyond(<const uint8_t*> words, limit):
            return 1
        self.ensure(2 + 4 * (<size_t> hole_count + 1))
        out = self.data + self.used
        for i in range((limit + 63) >> 6):
            word = words[i]
            while word:
                hole = i << 6 | <uint32_t> __builtin_ctzll(word)
                word &= word - 1
                if hole > start:
                    put_le16(out + 2 + 4 * runs, start)
                    put_le16(out + 4 + 4 * runs, hole - 1 - start)
                    cardinality += hole - start
                    runs += 1
                start = hole + 1
        if start < limit:
            put_le16(out + 2 + 4 * runs, start)
            put_le16(out + 4 + 4 * runs, limit - 1 - start)
            cardinality += limit - start
            runs += 1
        if runs == 0:
            return 0
        put_le16(out, runs)
        c = &self.table[self.count]
        c.key = key
        c.kind = RUN
        c.cardinality = cardinality
        c.run_count = <uint16_t> runs
        c.data = <const uint8_t*> self.used
        self.used += 2 + 4 * <size_t> runs
        self.any_run = True
        self.count += 1
        return 0

    cdef int put_container(self, const Container* container) except -1 nogil:
        """Adds a container as it is, when it is well formed. Returns 1 when it is not."""
        cdef size_t size
        cdef Container* c
        cdef uint64_t words[CHUNK_WORDS]
        cdef int form = well_formed(container, self.limit(container.key))
        if form == 0:
            return 1
        if form == 2:
            fill(container, words)
            return self.put_words(container.key, words)
        size = (CHUNK_BYTES if container.kind == BITSET else
                2 * <size_t> container.cardinality if container.kind == ARRAY else 2 + 4 * <size_t> container.run_count)
        self.ensure(size)
        c = &self.table[self.count]
        c[0] = container[0]
        c.data = <const uint8_t*> self.used
        if container.kind == RUN:
            put_le16(self.data + self.used, container.run_count)
            memcpy(self.data + self.used + 2, container.data, size - 2)
            self.any_run = True
        else:
            memcpy(self.data + self.used, container.data, size)
        self.used += size
        self.count += 1
        return 0

    cdef uint64_t cardinality(self) noexcept nogil:
        cdef uint64_t total = 0
        cdef uint32_t i
        for i in range(self.count):
            total += self.table[i].cardinality
        return total

    cdef object finish(self):
        """The rows as a pyroaring.BitMap."""
        cdef size_t head, at
        cdef uint32_t i, flag_bytes = (self.count + 7) // 8
        cdef uint8_t* buffer
        if self.count == 0:
            return BitMap()
        if self.any_run:
            head = 4 + flag_bytes + 4 * <size_t> self.count + (4 * <size_t> self.count if self.count >= OFFSETS_FROM else 0)
        else:
            head = 8 + 8 * <size_t> self.count
        buffer = <uint8_t*> malloc(head + self.used)
        if buffer == NULL:
            raise MemoryError()
        try:
            if self.any_run:
                put_le32(buffer, COOKIE_RUNS | (self.count - 1) << 16)
                memset(buffer + 4, 0, flag_bytes)
                for i in range(self.count):
                    if self.table[i].kind == RUN:
                        buffer[4 + (i >> 3)] |= <uint8_t> (1 << (i & 7))
                at = 4 + flag_bytes
            else:
                put_le32(buffer, COOKIE_PLAIN)
                put_le32(buffer + 4, self.count)
                at = 8
            for i in range(self.count):
                put_le16(buffer + at, self.table[i].key)
                put_le16(buffer + at + 2, self.table[i].cardinality - 1)
                at += 4
            if not self.any_run or self.count >= OFFSETS_FROM:
                for i in range(self.count):
                    put_le32(buffer + at, <uint32_t> (head + <size_t> self.table[i].data))
                    at += 4
            memcpy(buffer + head, self.data, self.used)
            return BitMap.deserialize(PyMemoryView_FromMemory(<char*> buffer, head + self.used, PyBUF_READ))
        finally:
            free(buffer)


cdef object range_rows(uint64_t start, uint64_t end):
    """Rows [start, end) as a BitMap of run containers: 64 bytes per 65,536 rows at most."""
    cdef RowsWriter writer = RowsWriter.__new__(RowsWriter, end)
    cdef uint64_t key
    for key in range(start >> 16, chunk_count(end)):
        writer.put_range(<uint16_t> key, <uint32_t> (start - (key << 16)) if key == start >> 16 else 0,
                         chunk_limit(end, <uint32_t> key))
    return writer.finish()


def all_rows(uint64_t row_count):
    """Rows 0 to row_count - 1, a BitMap."""
    return range_rows(0, row_count)

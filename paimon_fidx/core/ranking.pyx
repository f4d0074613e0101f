"""TOP-N over a bit-sliced index, and how many rows each code has.

`top` is O'Neil and Quass' algorithm turned chunk by chunk: it keeps the best k rows so far, and their worst code is
the bound that later chunks must reach. Chunks come in the order of the best code their structure allows, so that on
sorted data the first one settles the bound and the pass ends there; on random data the fused comparison drops most
chunks after a few slices.
"""
cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

from paimon_fidx.core.comparison cimport (
    BAD, EVERYTHING, NOTHING, WORDS, ChunkSlices, bounds, compare, constant_bit, contains, fidx_work, find, slice_at,
    workspace)
from paimon_fidx.core.roaring cimport (
    BITSET, CHUNK_BYTES, CHUNK_ROWS, CHUNK_WORDS, Bitmap, Container, Fault, Pool, RowsWriter, fill, kernels, parse)
from paimon_fidx.core.slices cimport CodeRange, Slices, bad_container, chunk_codes, look

cdef extern from * nogil:
    int __builtin_ctzll(unsigned long long)
    int __builtin_clzll(unsigned long long)
    int __builtin_popcountll(unsigned long long)

cdef enum:
    GATHER_PROBE = 64          # so few candidates are looked up in the containers one by one


cdef struct Candidate:
    uint64_t code
    uint32_t row


cdef int _by_code_up(const void* a, const void* b) noexcept nogil:
    cdef Candidate* x = <Candidate*> a
    cdef Candidate* y = <Candidate*> b
    if x.code != y.code:
        return -1 if x.code < y.code else 1
    return -1 if x.row < y.row else 1


cdef int _by_code_down(const void* a, const void* b) noexcept nogil:
    cdef Candidate* x = <Candidate*> a
    cdef Candidate* y = <Candidate*> b
    if x.code != y.code:
        return -1 if x.code > y.code else 1
    return -1 if x.row < y.row else 1


cdef int _by_row(const void* a, const void* b) noexcept nogil:
    cdef Candidate* x = <Candidate*> a
    cdef Candidate* y = <Candidate*> b
    return -1 if x.row < y.row else 1


cdef bint _codes(const ChunkSlices* s, const uint64_t* rows, uint32_t row_total, uint32_t base,
                 Candidate* out, fidx_work* w) noexcept nogil:
    """The codes of the chunk's set rows, in row order. False when a run leaves the chunk."""
    cdef const Container* plane
    cdef uint32_t i, n = 0, j
    cdef int k
    cdef uint64_t x
    cdef const uint8_t* words
    for i in range(CHUNK_WORDS):
        x = rows[i]
        while x:
            out[n].row = base | i << 6 | <uint32_t> __builtin_ctzll(x)
            out[n].code = 0
            n += 1
            x &= x - 1
    for k in range(s.count):
        plane = slice_at(s, k)
        if plane == NULL:
            continue
        if row_total <= GATHER_PROBE and plane.kind != BITSET:
            for j in range(n):
                out[j].code |= <uint64_t> contains(plane, out[j].row & 65535) << k
            continue
        words = plane.data
        if plane.kind != BITSET:
            if not fill(plane, w.scratch[0]):
                return False
            words = <const uint8_t*> w.scratch[0]
        for j in range(n):
            i = out[j].row & 65535
            out[j].code |= <uint64_t> (words[i >> 3] >> (i & 7) & 1) << k
    return True


cdef bint _best_of_chunk(const ChunkSlices* s, uint64_t k, bint largest, uint64_t* rows,
                         fidx_work* w) noexcept nogil:
    """Leaves in ``rows`` k of its rows with the best codes (more than k rows on entry). Slices from high to low: the
    better half is taken whole while it fits into k, else searched on. False when a run leaves the chunk."""
    cdef const Container* plane
    cdef uint64_t taken = 0, n
    cdef int i, j
    cdef uint32_t left, position
    memset(w.acc, 0, CHUNK_BYTES)
    for i in range(s.count - 1, -1, -1):
        plane = slice_at(s, i)
        if plane == NULL:
            memset(w.spare, 0, CHUNK_BYTES)
        elif not fill(plane, w.spare):
            return False
        for j in range(CHUNK_WORDS):
            w.spare[j] = rows[j] & (w.spare[j] if largest else ~w.spare[j])
        n = kernels().popcount(<const uint8_t*> w.spare)
        if taken + n > k:
            memcpy(rows, w.spare, CHUNK_BYTES)
        else:
            taken += n
            kernels().or_into(w.acc, <const uint8_t*> w.spare)
            kernels().andnot_into(rows, <const uint8_t*> w.spare)
    left = <uint32_t> (k - taken)                      # of the rows that tie at the boundary, the first ones
    for j in range(CHUNK_WORDS):
        n = <uint64_t> __builtin_popcountll(rows[j])
        if n <= left:
            left -= <uint32_t> n
            continue
        while n > left:
            position = 63 - <uint32_t> __builtin_clzll(rows[j])
            rows[j] &= ~(<uint64_t> 1 << position)
            n -= 1
        left = 0
    kernels().or_into(rows, <const uint8_t*> w.acc)
    return True


@cython.final
cdef class _Selection:
    """Rows to choose from, as parsed containers; None stands for all."""
    cdef Pool pool
    cdef Bitmap rows
    cdef bytes data

    def __cinit__(self, rows, uint64_t row_count):
        cdef Fault fault
        self.pool = Pool.__new__(Pool)
        self.data = rows.serialize()
        if len(rows) and rows.max() >= row_count:
            raise ValueError(f"selected rows must be below row_count {row_count}, found {rows.max()}")
        parse(<const uint8_t*> <char*> self.data, len(self.data), row_count, self.pool, &self.rows, &fault)

    cdef bint clip(self, uint16_t key, uint64_t* words, uint64_t* spare) noexcept nogil:
        """Keeps the selected rows of a chunk; False when none is selected."""
        cdef const Container* s = find(self.pool.items, &self.rows, key)
        if s == NULL:
            return False
        fill(s, spare)
        kernels().and_into(words, <const uint8_t*> spare)
        return True


cdef void _promise(Slices index, bint largest, Candidate* order) noexcept nogil:
    """For every chunk the best code its containers allow: a bit that some row may have (or lack)."""
    cdef const Container* plane
    cdef ChunkSlices s
    cdef const Container* e
    cdef uint32_t i, least, most
    cdef int k
    for i in range(index.ebm.count):
        e = &index.pool.items[index.ebm.first + i]
        look(index, i, &s)
        bounds(e, &least, &most)
        order[i].row = i
        order[i].code = 0
        for k in range(index.slice_count):
            plane = slice_at(&s, k)
            if (plane != NULL) if largest else constant_bit(plane, least, most) == 1:
                order[i].code |= <uint64_t> 1 << k


cdef int top(Slices index, uint64_t k, bint largest, object selection, bint ties, RowsWriter out,
             uint64_t* found) except -1:
    """Writes the k rows with the largest (or smallest) codes among ``selection`` (BitMap or None), with ``ties`` also
    those that tie with the last one. ``found`` is their number."""
    cdef _Selection chosen = None if selection is None else _Selection(selection, index.row_count)
    cdef Candidate* best = NULL
    cdef Candidate* order
    cdef Candidate* grown
    cdef uint64_t held = 0, capacity = 0, bound = 0, n
    cdef bint bounded = False
    cdef const Container* e
    cdef ChunkSlices s
    cdef uint32_t i, least, most
    cdef int state
    cdef fidx_work* w
    cdef CodeRange range_
    found[0] = 0
    if k == 0:
        return 0
    range_.lo = 0
    range_.hi = index.max_code()
    for i in range(index.ebm.count):
        held += index.pool.items[index.ebm.first + i].cardinality
    if held <= k:                                      # all of them: nothing to sort, nothing to allocate
        _select_within(index, &range_, chosen, out)
        found[0] = out.cardinality()
        return 0
    held = 0
    order = <Candidate*> malloc((index.ebm.count + 1) * sizeof(Candidate))
    if order == NULL:
        raise MemoryError()
    try:
        with nogil:
            w = workspace()
            _promise(index, largest, order)
            qsort(order, index.ebm.count, sizeof(Candidate), _by_code_down if largest else _by_code_up)
            for i in range(index.ebm.count):
                if bounded and (order[i].code <= bound if largest else order[i].code >= bound):
                    break                              # neither this chunk nor any later one beats the bound
                e = &index.pool.items[index.ebm.first + order[i].row]
                if not fill(e, w.exist):
                    bad_container(index, e.key)
                if chosen is not None and not chosen.clip(e.key, w.exist, w.spare):
                    continue
                look(index, order[i].row, &s)
                memcpy(w.total, w.exist, CHUNK_BYTES)
                if bounded:
                    bounds(e, &least, &most)
                    # k rows as good as the bound are held already: only better ones count
                    state = compare(&s, least, most, <const uint8_t*> w.exist,
                                    bound + 1 if largest else 0, index.max_code() if largest else bound - 1, w)
                    if state == BAD:
                        bad_container(index, e.key)
                    if state == NOTHING:
                        continue
                    if state == WORDS:
                        memcpy(w.total, w.acc, CHUNK_BYTES)
                n = kernels().popcount(<const uint8_t*> w.total)
                if n == 0:
                    continue
                if n > k:
                    if not _best_of_chunk(&s, k, largest, w.total, w):
                        bad_container(index, e.key)
                    n = k
                if held + n > capacity:
                    capacity = max(held + n, capacity * 2)
                    grown = <Candidate*> realloc(best, capacity * sizeof(Candidate))
                    if grown == NULL:
                        with gil:
                            raise MemoryError()
                    best = grown
                if not _codes(&s, w.total, <uint32_t> n, <uint32_t> e.key << 16, best + held, w):
                    bad_container(index, e.key)
                held += n
                if held > k:
                    qsort(best, held, sizeof(Candidate), _by_code_down if largest else _by_code_up)
                    held = k
                if held == k:
                    if not bounded:
                        qsort(best, held, sizeof(Candidate), _by_code_down if largest else _by_code_up)
                    bounded = True
                    bound = best[k - 1].code
        if ties and held == k:
            if largest:
                range_.lo = bound
            else:
                range_.hi = bound
            _select_within(index, &range_, chosen, out)
        else:
            qsort(best, held, sizeof(Candidate), _by_row)
            _write_rows(index, best, held, out)
        found[0] = out.cardinality()
    finally:
        free(best)
        free(order)
    return 0


cdef int _select_within(Slices index, const CodeRange* range_, _Selection chosen, RowsWriter out) except -1:
    cdef const Container* e
    cdef uint32_t i
    cdef int state
    cdef fidx_work* w
    with nogil:
        w = workspace()
        for i in range(index.ebm.count):
            e = &index.pool.items[index.ebm.first + i]
            state = chunk_codes(index, i, range_, 1, w)
            if state == BAD:
                bad_container(index, e.key)
            if state == NOTHING:
                continue
            if state == EVERYTHING and not fill(e, w.total):
                bad_container(index, e.key)
            if chosen is not None and not chosen.clip(e.key, w.total, w.spare):
                continue
            if out.put_words(e.key, w.total):
                bad_container(index, e.key)
    return 0


cdef int _write_rows(Slices index, Candidate* rows, uint64_t count, RowsWriter out) except -1:
    """Writes rows in ascending order."""
    cdef uint64_t i = 0
    cdef uint32_t key, value
    cdef fidx_work* w = workspace()
    while i < count:
        key = rows[i].row >> 16
        memset(w.e, 0, CHUNK_BYTES)
        while i < count and rows[i].row >> 16 == key:
            value = rows[i].row & 65535
            w.e[value >> 6] |= <uint64_t> 1 << (value & 63)
            i += 1
        if out.put_words(<uint16_t> key, w.e):
            bad_container(index, <uint16_t> key)
    return 0


cdef object code_counts(Slices index, object selection):
    """{code: rows that have it} over ``selection`` (BitMap, or None for all)."""
    cdef _Selection chosen = None if selection is None else _Selection(selection, index.row_count)
    cdef Candidate* codes
    cdef const Container* e
    cdef ChunkSlices s
    cdef uint32_t i, n, j, first, least, most
    cdef int k, constant
    cdef uint64_t code
    cdef fidx_work* w = workspace()
    cdef dict counts = {}
    codes = <Candidate*> malloc(CHUNK_ROWS * sizeof(Candidate))
    if codes == NULL:
        raise MemoryError()
    try:
        for i in range(index.ebm.count):
            e = &index.pool.items[index.ebm.first + i]
            if not fill(e, w.exist):
                bad_container(index, e.key)
            if chosen is not None and not chosen.clip(e.key, w.exist, w.spare):
                continue
            n = kernels().popcount(<const uint8_t*> w.exist)
            if n == 0:
                continue
            look(index, i, &s)
            bounds(e, &least, &most)
            code = 0
            for k in range(index.slice_count):
                constant = constant_bit(slice_at(&s, k), least, most)
                if constant < 0:
                    break
                code |= <uint64_t> constant << k
            else:
                counts[code] = counts.get(code, 0) + n
                continue
            with nogil:
                if not _codes(&s, w.exist, n, <uint32_t> e.key << 16, codes, w):
                    bad_container(index, e.key)
                qsort(codes, n, sizeof(Candidate), _by_code_up)
            first = 0
            for j in range(1, n + 1):
                if j == n or codes[j].code != codes[first].code:
                    counts[codes[first].code] = counts.get(codes[first].code, 0) + (j - first)
                    first = j
    finally:
        free(codes)
    return counts

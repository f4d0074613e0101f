"""Rows of bit-sliced indexes: which of them have a code in given ranges, which have one at all.

A row with a value has its code's bit i in slice i and itself in the existence bitmap (ebm). Nothing is deserialized:
headers are parsed once into container tables, and each chunk is decided from them (see comparison) and written out
before the next one. One index, or two over the same rows (a BSI keeps negative values apart), in one walk.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from paimon_fidx.core.comparison cimport (
    BAD, EVERYTHING, NOTHING, SLICES_MOST, WORDS, bounds, compare, equal, fidx_work, workspace)
from paimon_fidx.core.roaring cimport (
    BITSET, CHUNK_BYTES, CHUNK_ROWS, Bitmap, Container, Pool, RowsWriter, chunk_count, fidx_fill_range, fill, is_full,
    kernels)


cdef class Slices:
    def __cinit__(self):
        self.pool = Pool.__new__(Pool)

    cdef uint64_t max_code(self) noexcept nogil:
        return ~<uint64_t> 0 if self.slice_count >= 64 else (<uint64_t> 1 << self.slice_count) - 1


cdef const Container* _seek(const Container* items, Bitmap* bitmap, uint32_t* at, uint16_t key) noexcept nogil:
    while at[0] < bitmap.count and items[bitmap.first + at[0]].key < key:
        at[0] += 1
    if at[0] < bitmap.count and items[bitmap.first + at[0]].key == key:
        return &items[bitmap.first + at[0]]
    return NULL


cdef void gather(Slices index, Walk* walk, uint16_t key, const Container** s) noexcept nogil:
    cdef int i
    for i in range(index.slice_count):
        s[i] = _seek(index.pool.items, &index.slices[i], &walk.at[i], key)


cdef const Container* find(const Container* items, const Bitmap* bitmap, uint16_t key) noexcept nogil:
    """The bitmap's container of a chunk, or NULL; chunks in any order."""
    cdef uint32_t lo = 0, hi = bitmap.count, middle
    items += bitmap.first
    while lo < hi:
        middle = (lo + hi) >> 1
        if items[middle].key < key:
            lo = middle + 1
        else:
            hi = middle
    return &items[lo] if lo < bitmap.count and items[lo].key == key else NULL


cdef void find_all(Slices index, uint16_t key, const Container** s) noexcept nogil:
    """Every slice's container of a chunk; chunks in any order."""
    cdef int i
    for i in range(index.slice_count):
        s[i] = find(index.pool.items, &index.slices[i], key)


cdef int chunk_codes(Slices index, Walk* walk, const Container* e, const CodeRange* ranges, Py_ssize_t count,
                fidx_work* w) noexcept nogil:
    """Rows of one chunk whose code lies in any range: NOTHING, EVERYTHING of the ebm, or WORDS in w.total."""
    cdef const Container* s[SLICES_MOST]
    cdef const uint8_t* exist
    cdef uint32_t least, most
    cdef uint64_t lo, hi, top_code = index.max_code()
    cdef int state = NOTHING, one
    cdef Py_ssize_t i
    gather(index, walk, e.key, s)
    bounds(e, &least, &most)
    exist = NULL
    for i in range(count):
        lo = ranges[i].lo
        hi = min(ranges[i].hi, top_code)
        if lo > hi:
            continue
        if exist == NULL:
            if e.kind == BITSET:
                exist = e.data
            elif is_full(e):
                exist = <const uint8_t*> w.ones
            else:
                if not fill(e, w.exist):
                    return BAD
                exist = <const uint8_t*> w.exist
        if lo == hi:
            one = equal(s, index.slice_count, least, most, exist, lo, w)
        else:
            one = compare(s, index.slice_count, least, most, exist, lo, hi, w)
        if one == EVERYTHING or one == BAD:
            return one
        if one == WORDS:
            if state == NOTHING:
                memcpy(w.total, w.acc, CHUNK_BYTES)
                state = WORDS
            else:
                kernels().or_into(w.total, <const uint8_t*> w.acc)
    return state


cdef int bad_container(Slices index, uint16_t key) except -1 with gil:
    """A container that only shows its fault when it is unpacked: a run leaves its chunk, or rows lie past row_count."""
    raise index.source.corrupt(f"{index.where}.container[key={key}]", index.at,
                               f"runs within 65,536 rows, and rows below {index.row_count}", "a run or a row beyond")


cdef int select(Slices first, const CodeRange* first_ranges, Py_ssize_t first_count,
                Slices second, const CodeRange* second_ranges, Py_ssize_t second_count,
                bint negate, RowsWriter out) except -1:
    """Writes the rows whose code lies in the ranges (of either index; ``second`` may be None), or with ``negate`` the
    rows that have a code outside them."""
    cdef Walk first_walk, second_walk
    cdef const Container* e
    cdef const Container* g
    cdef uint32_t key
    cdef int a, b
    cdef fidx_work* w
    cdef bint two = second is not None
    memset(&first_walk, 0, sizeof(Walk))
    memset(&second_walk, 0, sizeof(Walk))
    with nogil:
        w = workspace()
        while True:
            key = 65536
            if first_walk.ebm < first.ebm.count:
                key = first.pool.items[first.ebm.first + first_walk.ebm].key
            if two and second_walk.ebm < second.ebm.count:
                key = min(key, <uint32_t> second.pool.items[second.ebm.first + second_walk.ebm].key)
            if key == 65536:
                break
            e = _seek(first.pool.items, &first.ebm, &first_walk.ebm, <uint16_t> key)
            g = _seek(second.pool.items, &second.ebm, &second_walk.ebm, <uint16_t> key) if two else NULL
            a = b = NOTHING
            if e != NULL:
                a = chunk_codes(first, &first_walk, e, first_ranges, first_count, w)
                first_walk.ebm += 1
            if g != NULL:
                # w.total and w.exist are used again by the second index
                if a == WORDS:
                    memcpy(w.spare, w.total, CHUNK_BYTES)
                b = chunk_codes(second, &second_walk, g, second_ranges, second_count, w)
                second_walk.ebm += 1
            if a == BAD or b == BAD:
                bad_container(first, <uint16_t> key)
            if g == NULL:
                _emit(first, out, <uint16_t> key, e, a, w.total, negate, w)
            elif e == NULL:
                _emit(first, out, <uint16_t> key, g, b, w.total, negate, w)
            else:
                _emit_two(first, out, <uint16_t> key, e, a, w.spare, g, b, w.total, negate, w)
    return 0


cdef int _emit(Slices index, RowsWriter out, uint16_t key, const Container* e, int state, uint64_t* words, bint negate,
               fidx_work* w) except -1 nogil:
    if state != WORDS:
        if (state == EVERYTHING) == negate:
            return 0
        if is_full(e) and out.limit(key) == CHUNK_ROWS:
            return out.put_range(key, 0, CHUNK_ROWS)
        if not fill(e, w.e) or out.put_words(key, w.e):
            bad_container(index, key)
        return 0
    if negate:
        if not fill(e, w.e):
            bad_container(index, key)
        kernels().andnot_into(w.e, <const uint8_t*> words)
        words = w.e
    if out.put_words(key, words):
        bad_container(index, key)
    return 0


cdef int _emit_two(Slices index, RowsWriter out, uint16_t key, const Container* e, int a, uint64_t* a_words, const Container* g, int b,
                   uint64_t* b_words, bint negate, fidx_work* w) except -1 nogil:
    """Both indexes have rows in the chunk: the union of their answers, or what is left of both existence bitmaps."""
    if not fill(e, w.e) or not fill(g, w.f):
        bad_container(index, key)
    if a == NOTHING:
        memset(w.acc, 0, CHUNK_BYTES)
    else:
        memcpy(w.acc, a_words if a == WORDS else w.e, CHUNK_BYTES)
    if b != NOTHING:
        kernels().or_into(w.acc, <const uint8_t*> (b_words if b == WORDS else w.f))
    if negate:
        kernels().or_into(w.e, <const uint8_t*> w.f)
        kernels().andnot_into(w.e, <const uint8_t*> w.acc)
        if out.put_words(key, w.e):
            bad_container(index, key)
    elif out.put_words(key, w.acc):
        bad_container(index, key)
    return 0


cdef int existence(Slices first, Slices second, bint absent, RowsWriter out) except -1:
    """Writes the rows that have a value (in either index), or with ``absent`` those of row_count that have none."""
    cdef CodeRange every
    cdef Walk first_walk, second_walk
    cdef const Container* e
    cdef const Container* g
    cdef uint32_t key, limit
    cdef fidx_work* w
    every.lo = 0
    every.hi = ~<uint64_t> 0
    if not absent:
        return select(first, &every, 1, second, &every, 1 if second is not None else 0, False, out)
    memset(&first_walk, 0, sizeof(Walk))
    memset(&second_walk, 0, sizeof(Walk))
    with nogil:
        w = workspace()
        for key in range(chunk_count(out.row_count)):
            limit = out.limit(key)
            e = _seek(first.pool.items, &first.ebm, &first_walk.ebm, <uint16_t> key)
            g = NULL
            if second is not None:
                g = _seek(second.pool.items, &second.ebm, &second_walk.ebm, <uint16_t> key)
            if e == NULL and g == NULL:
                out.put_range(<uint16_t> key, 0, limit)
                continue
            if (e != NULL and is_full(e)) or (g != NULL and is_full(g)):
                if limit < CHUNK_ROWS:
                    bad_container(first, <uint16_t> key)
                continue
            memset(w.acc, 0, CHUNK_BYTES)
            fidx_fill_range(w.acc, 0, limit)
            if e != NULL:
                if not fill(e, w.e):
                    bad_container(first, <uint16_t> key)
                kernels().andnot_into(w.acc, <const uint8_t*> w.e)
            if g != NULL:
                if not fill(g, w.e):
                    bad_container(first, <uint16_t> key)
                kernels().andnot_into(w.acc, <const uint8_t*> w.e)
            out.put_words(<uint16_t> key, w.acc)
    return 0

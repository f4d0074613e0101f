"""Rows of bit-sliced indexes: which of them have a code in given ranges, which have one at all.

A row with a value has its code's bit i in slice i and itself in the existence bitmap (ebm). Nothing is deserialized:
headers are parsed once into container tables, and each chunk is decided from them (see comparison) and written out
before the next one. One index, or two over the same rows (a BSI keeps negative values apart), in one walk.
"""
cimport cython
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy, memset

from paimon_fidx.core.comparison cimport (
    BAD, EVERYTHING, NOTHING, WORDS, ChunkSlices, bounds, compare, equal, fidx_work, find, workspace)
from paimon_fidx.core.roaring cimport (
    BITSET, CHUNK_BYTES, CHUNK_ROWS, Bitmap, Container, Pool, RowsWriter, chunk_count, fidx_fill_range, fill, is_full,
    kernels)


@cython.final
cdef class Slices:
    def __cinit__(self):
        self.pool = Pool.__new__(Pool)

    cdef uint64_t max_code(self) noexcept nogil:
        return ~<uint64_t> 0 if self.slice_count >= 64 else (<uint64_t> 1 << self.slice_count) - 1


cdef void look(Slices index, uint32_t i, ChunkSlices* out) noexcept nogil:
    """The slices of the i-th chunk of the existence bitmap."""
    out.items = index.pool.items
    out.slices = index.slices
    out.count = index.slice_count
    out.key = index.pool.items[index.ebm.first + i].key
    out.guess = i


cdef int chunk_codes(Slices index, uint32_t chunk, const CodeRange* ranges, Py_ssize_t count, fidx_work* w) noexcept nogil:
    """Rows of the ``chunk``-th container of the ebm whose code lies in any range: NOTHING, EVERYTHING of the ebm, or WORDS in w.total."""
    cdef ChunkSlices s
    cdef const Container* e = &index.pool.items[index.ebm.first + chunk]
    cdef const uint8_t* exist
    cdef uint32_t least, most
    cdef uint64_t lo, hi, top_code = index.max_code()
    cdef int state = NOTHING, one
    cdef Py_ssize_t i
    look(index, chunk, &s)
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
            one = equal(&s, least, most, exist, lo, w)
        else:
            one = compare(&s, least, most, exist, lo, hi, w)
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
    cdef uint32_t i = 0, j = 0, key
    cdef const Container* e
    cdef const Container* g
    cdef int a, b
    cdef fidx_work* w
    with nogil:
        w = workspace()
        while True:
            e = &first.pool.items[first.ebm.first + i] if i < first.ebm.count else NULL
            g = NULL
            if second is not None and j < second.ebm.count:
                g = &second.pool.items[second.ebm.first + j]
            if e == NULL and g == NULL:
                break
            if e != NULL and g != NULL and e.key != g.key:      # the lower chunk first
                if e.key < g.key:
                    g = NULL
                else:
                    e = NULL
            key = e.key if e != NULL else g.key
            a = b = NOTHING
            if e != NULL:
                a = chunk_codes(first, i, first_ranges, first_count, w)
                i += 1
            if g != NULL:
                # w.total and w.exist are used again by the second index
                if a == WORDS:
                    memcpy(w.spare, w.total, CHUNK_BYTES)
                b = chunk_codes(second, j, second_ranges, second_count, w)
                j += 1
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
    cdef const Container* e
    cdef const Container* g
    cdef uint32_t key, limit
    cdef fidx_work* w
    every.lo = 0
    every.hi = ~<uint64_t> 0
    if not absent:
        return select(first, &every, 1, second, &every, 1 if second is not None else 0, False, out)
    with nogil:
        w = workspace()
        for key in range(chunk_count(out.row_count)):
            limit = out.limit(key)
            e = find(first.pool.items, &first.ebm, <uint16_t> key)
            g = find(second.pool.items, &second.ebm, <uint16_t> key) if second is not None else NULL
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

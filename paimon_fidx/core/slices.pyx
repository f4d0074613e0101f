"""Evaluation of bit-sliced indexes on their serialized bitmaps, chunk by chunk.

A row with a value has its code's bit i in slice i and itself in the existence bitmap (ebm). Nothing is deserialized:
each chunk's bitset containers are read where they lie, sparse ones are unpacked into thread-local scratch, and one
fused pass (kernels.h) decides lo <= code <= hi for a block of rows in registers. Before it, whole slices are decided
by their structure: an absent container is a slice of zeros, a run over all candidates a slice of ones; on sorted data
that and the shrinking window of undecided rows leave little to read. Slices are only ever combined under the ebm, so
bits outside it cannot reach a result.
"""
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

from paimon_fidx.core.cursor cimport le16
from paimon_fidx.core.roaring cimport (
    ARRAY, BITSET, CHUNK_BYTES, CHUNK_ROWS, CHUNK_WORDS, RUN, Bitmap, Container, Fault, Pool, RowsWriter, chunk_count,
    fidx_fill_range, fidx_move_values, fidx_plane, fidx_program, fidx_state, fill, is_full, kernels, parse)

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define FIDX_TLS __declspec(thread)
    #else
    #define FIDX_TLS __thread
    #endif
    #define FIDX_SCRATCH 24
    typedef struct {
      uint64_t e[1024], f[1024], acc[1024], exist[1024], total[1024], spare[1024], ones[1024];
      uint64_t scratch[FIDX_SCRATCH][1024];
    } fidx_work __attribute__((aligned(64)));
    static FIDX_TLS fidx_work fidx_tls_work;
    static inline fidx_work *fidx_get_work(void) {
      fidx_work *w = &fidx_tls_work;
      if (!w->ones[0]) memset(w->ones, 255, 8192);
      return w;
    }
    """
    enum: FIDX_SCRATCH
    ctypedef struct fidx_work:
        uint64_t* e
        uint64_t* f
        uint64_t* acc
        uint64_t* exist
        uint64_t* total
        uint64_t* spare
        uint64_t* ones
        uint64_t (*scratch)[1024]
    fidx_work* fidx_get_work() noexcept nogil

cdef extern from * nogil:
    int __builtin_ctzll(unsigned long long)
    int __builtin_clzll(unsigned long long)
    int __builtin_popcountll(unsigned long long)

cdef enum:
    NOTHING = 0                # no candidate is inside
    EVERYTHING = 1             # every candidate is
    WORDS = 2                  # those in work.acc
    BAD = 3                    # a run leaves its chunk
    BLOCK_MOST = 256           # windows are multiples of the widest kernel's block
    GATHER_PROBE = 64          # so few candidates are looked up in the containers one by one
    EQUAL_PROBE = 256          # ... and so few survivors of an equality

cdef enum Phase:
    COMMON = 0
    BOTH = 1
    LOW = 2
    HIGH = 3


cdef class Slices:
    def __cinit__(self):
        self.pool = Pool.__new__(Pool)

    cdef uint64_t max_code(self) noexcept nogil:
        return ~<uint64_t> 0 if self.slice_count >= 64 else (<uint64_t> 1 << self.slice_count) - 1


cdef struct Comparison:        # one chunk's running comparison
    fidx_program prog
    fidx_state state
    int begin                  # window of bytes that may hold undecided rows
    int end
    int scratch_used
    bint bad


cdef void _start(Comparison* c, fidx_work* w, const uint8_t* exist) noexcept nogil:
    c.prog.fresh = True
    c.prog.last = False
    c.prog.has_f = False
    c.prog.common_count = c.prog.both_count = c.prog.one_count = 0
    c.prog.turn = False
    c.prog.one_is_low = False
    c.prog.split = NULL
    c.prog.turn_accept = 0
    c.prog.rest_accept = 0
    c.state.e_in = exist
    c.state.e = w.e
    c.state.f = w.f
    c.state.acc = w.acc
    c.begin = 0
    c.end = CHUNK_BYTES
    c.scratch_used = 0
    c.bad = False


cdef bint _flush(Comparison* c, bint last, uint64_t rest_accept, bint has_f_after) noexcept nogil:
    """Runs the collected slices. Returns whether rows are still undecided."""
    cdef int live
    c.prog.last = last
    c.prog.rest_accept = rest_accept
    live = kernels().compare(&c.prog, &c.state, c.begin, c.end)
    c.state.e_in = <const uint8_t*> c.state.e
    c.prog.fresh = False
    c.prog.has_f = has_f_after
    c.prog.common_count = c.prog.both_count = c.prog.one_count = 0
    c.prog.turn = False
    c.prog.split = NULL
    c.scratch_used = 0
    return live


cdef int _pending(const Comparison* c) noexcept nogil:
    return c.prog.common_count + c.prog.both_count + c.prog.one_count + (c.prog.split != NULL)


cdef void _shrink(Comparison* c) noexcept nogil:
    """Narrows the window to the blocks that hold undecided rows."""
    cdef int first = c.begin >> 3, last = c.end >> 3
    while first < last and not (c.state.e[first] | c.state.f[first]):
        first += 1
    while last > first and not (c.state.e[last - 1] | c.state.f[last - 1]):
        last -= 1
    c.begin = first * 8 // BLOCK_MOST * BLOCK_MOST
    c.end = (last * 8 + BLOCK_MOST - 1) // BLOCK_MOST * BLOCK_MOST


cdef bint _fill_window(const Container* s, uint64_t* words, int begin, int end) noexcept nogil:
    """`fill`, restricted to bytes [begin, end) of the chunk. False when a run leaves the chunk."""
    cdef uint32_t lo = begin * 8, hi = end * 8, i, value, stop, a = 0, z, middle
    cdef const uint8_t* p = s.data
    if begin == 0 and end == CHUNK_BYTES:
        return fill(s, words)
    memset(<uint8_t*> words + begin, 0, end - begin)
    if s.kind == ARRAY:
        z = s.cardinality
        while a < z:                                    # first value >= lo; any order is safe, only less is found
            middle = (a + z) >> 1
            if le16(p + 2 * middle) < lo:
                a = middle + 1
            else:
                z = middle
        for i in range(a, s.cardinality):
            value = le16(p + 2 * i)
            if value >= hi:
                break
            if value >= lo:
                words[value >> 6] |= <uint64_t> 1 << (value & 63)
        return True
    z = s.run_count
    while a < z:
        middle = (a + z) >> 1
        if <uint32_t> le16(p + 4 * middle) + le16(p + 4 * middle + 2) < lo:
            a = middle + 1
        else:
            z = middle
    for i in range(a, s.run_count):
        value = le16(p + 4 * i)
        stop = value + le16(p + 4 * i + 2) + 1
        if value >= hi:
            break
        if stop > 65536:
            return False
        fidx_fill_range(words, max(value, lo), min(stop, hi))
    return True


cdef int _constant(const Container* s, uint32_t least, uint32_t most) noexcept nogil:
    """0 or 1 when the slice has that bit for every candidate row in [least, most]; -1 when it must be read."""
    cdef uint32_t start
    if s == NULL:
        return 0
    if s.kind == RUN and s.run_count == 1:
        start = le16(s.data)
        if start <= least and start + le16(s.data + 2) >= most:
            return 1
    return -1


cdef void _bounds(const Container* e, uint32_t* least, uint32_t* most) noexcept nogil:
    """Rows of the ebm container lie in [least, most]; whole chunk where that is not cheap to know."""
    least[0] = 0
    most[0] = 65535
    if e.kind == RUN and e.run_count == 1:
        least[0] = le16(e.data)
        most[0] = least[0] + le16(e.data + 2)


cdef int _compare(const Container** s, int slice_count, uint32_t least, uint32_t most, const uint8_t* exist,
                  uint64_t lo, uint64_t hi, fidx_work* w) noexcept nogil:
    """Which candidates (`exist`, rows within [least, most]) have lo <= code <= hi; lo <= hi <= max code."""
    cdef Comparison c
    cdef uint64_t mask = ~<uint64_t> 0 if slice_count >= 64 else (<uint64_t> 1 << slice_count) - 1
    cdef uint64_t below, low_bit, high_bit
    cdef int i, constant
    cdef bint low_done, high_done, low_in, high_in, any_plane = False
    cdef Phase phase = COMMON
    cdef const Container* plane
    cdef fidx_plane* step
    cdef const uint8_t* words
    cdef uint64_t rest = ~<uint64_t> 0
    cdef bint ended = False
    _start(&c, w, exist)
    for i in range(slice_count - 1, -1, -1):
        below = mask >> (slice_count - 1 - i)          # bits i..0
        # A bound whose remaining bits cannot exclude anything is decided: all tied rows are inside.
        low_done = lo & below == 0
        high_done = ~hi & below == 0
        if phase == COMMON:
            if low_done and high_done:
                ended = True
                break
            if low_done:
                phase = HIGH
            elif high_done:
                phase = LOW
        elif phase == BOTH:
            if low_done and high_done:
                c.prog.turn = True
                c.prog.one_is_low = True
                c.prog.turn_accept = ~<uint64_t> 0
                phase = LOW
                ended = True
                break
            if low_done or high_done:
                c.prog.turn = True
                c.prog.one_is_low = high_done
                c.prog.turn_accept = ~<uint64_t> 0
                phase = LOW if high_done else HIGH
        elif (phase == LOW and low_done) or (phase == HIGH and high_done):
            ended = True
            break
        plane = s[i]
        low_bit = lo >> i & 1
        high_bit = hi >> i & 1
        constant = _constant(plane, least, most)
        if constant >= 0:
            if phase == COMMON:
                if low_bit == high_bit:
                    if <uint64_t> constant != low_bit:
                        rest = 0
                        ended = True
                        break
                else:
                    phase = HIGH if constant else LOW
                continue
            if phase == LOW or phase == HIGH:
                if <uint64_t> constant != (low_bit if phase == LOW else high_bit):
                    rest = ~<uint64_t> 0 if (constant == 1) == (phase == LOW) else 0
                    ended = True
                    break
                continue
            low_done = <uint64_t> constant != low_bit
            high_done = <uint64_t> constant != high_bit
            low_in = constant == 1
            high_in = constant == 0
            if low_done and high_done:
                # turn decides f, the rest decides e
                c.prog.turn = True
                c.prog.one_is_low = True
                c.prog.turn_accept = ~<uint64_t> 0 if high_in else 0
                phase = LOW
                rest = ~<uint64_t> 0 if low_in else 0
                ended = True
                break
            if low_done or high_done:
                c.prog.turn = True
                c.prog.one_is_low = high_done
                c.prog.turn_accept = ~<uint64_t> 0 if (high_in if high_done else low_in) else 0
                phase = LOW if high_done else HIGH
            continue
        any_plane = True
        if plane.kind == BITSET:
            words = plane.data
        else:
            if _pending(&c) >= 8 or c.scratch_used == FIDX_SCRATCH:
                if not _flush(&c, False, 0, phase == BOTH):
                    return WORDS
                _shrink(&c)
            if plane.kind == ARRAY and phase != BOTH and (phase == HIGH or low_bit == 0) and (
                    phase == LOW or high_bit == 0):
                # The few rows with a 1 leave the tie one by one; unpacking 8 KiB for them would cost more.
                if (c.prog.fresh or _pending(&c) or c.prog.turn) and not _flush(&c, False, 0, False):
                    return WORDS
                fidx_move_values(w.e, w.acc if phase == LOW else NULL, plane.data, plane.cardinality)
                continue
            words = <const uint8_t*> w.scratch[c.scratch_used]
            if not _fill_window(plane, w.scratch[c.scratch_used], c.begin, c.end):
                return BAD
            c.scratch_used += 1
        if phase == COMMON:
            if low_bit == high_bit:
                step = &c.prog.common[c.prog.common_count]
                c.prog.common_count += 1
                step.words = words
                step.bit = 0 - low_bit
            else:
                c.prog.split = words
                phase = BOTH
        elif phase == BOTH:
            step = &c.prog.both[c.prog.both_count]
            c.prog.both_count += 1
            step.words = words
            step.bit = 0 - low_bit
            step.high_bit = 0 - high_bit
        else:
            step = &c.prog.one[c.prog.one_count]
            c.prog.one_count += 1
            step.words = words
            step.bit = 0 - (low_bit if phase == LOW else high_bit)
            # Above the lower bound or below the upper one: inside.
            step.take = ~step.bit if phase == LOW else step.bit
        if plane.kind == RUN:
            # Runs come from sorted data, where one slice decides most rows: look again at what is left.
            if not _flush(&c, False, 0, phase == BOTH):
                return WORDS
            _shrink(&c)
    if phase == BOTH:                                  # still tied with both ends: both are inside
        c.prog.turn = True
        c.prog.one_is_low = True
        c.prog.turn_accept = ~<uint64_t> 0
        rest = ~<uint64_t> 0
    if not any_plane:
        return EVERYTHING if rest else NOTHING
    _flush(&c, True, rest, False)
    return WORDS


cdef int _equal(const Container** s, int slice_count, uint32_t least, uint32_t most, const uint8_t* exist,
                uint64_t code, fidx_work* w) noexcept nogil:
    """Which candidates have exactly ``code``: the bitsets in one pass, then the few survivors are looked up in the
    sparse slices, which are never unpacked for them."""
    cdef Comparison c
    cdef const Container* sparse[SLICES_MOST]
    cdef bint wanted[SLICES_MOST]
    cdef int i, constant, sparse_count = 0
    cdef uint64_t bit, x
    cdef uint32_t k, row
    _start(&c, w, exist)
    for i in range(slice_count - 1, -1, -1):
        bit = code >> i & 1
        constant = _constant(s[i], least, most)
        if constant >= 0:
            if <uint64_t> constant != bit:
                return NOTHING
        elif s[i].kind == BITSET:
            c.prog.common[c.prog.common_count].words = s[i].data
            c.prog.common[c.prog.common_count].bit = 0 - bit
            c.prog.common_count += 1
        else:
            sparse[sparse_count] = s[i]
            wanted[sparse_count] = bit == 1
            sparse_count += 1
    if not c.prog.common_count and not sparse_count:
        return EVERYTHING
    _flush(&c, True, ~<uint64_t> 0, False)
    if sparse_count and kernels().popcount(<const uint8_t*> w.acc) > EQUAL_PROBE:
        for i in range(sparse_count):
            if sparse[i].kind == ARRAY and not wanted[i]:
                fidx_move_values(w.acc, NULL, sparse[i].data, sparse[i].cardinality)
                continue
            if not fill(sparse[i], w.scratch[0]):
                return BAD
            if wanted[i]:
                kernels().and_into(w.acc, <const uint8_t*> w.scratch[0])
            else:
                kernels().andnot_into(w.acc, <const uint8_t*> w.scratch[0])
        return WORDS
    if sparse_count:
        for k in range(CHUNK_WORDS):
            x = w.acc[k]
            while x:
                row = k << 6 | <uint32_t> __builtin_ctzll(x)
                for i in range(sparse_count):
                    if _contains(sparse[i], row) != wanted[i]:
                        w.acc[k] &= ~(<uint64_t> 1 << (row & 63))
                        break
                x &= x - 1
    return WORDS


cdef struct Walk:              # position of every slice while chunks go by
    uint32_t ebm
    uint32_t at[SLICES_MOST]


cdef const Container* _seek(const Container* items, Bitmap* bitmap, uint32_t* at, uint16_t key) noexcept nogil:
    while at[0] < bitmap.count and items[bitmap.first + at[0]].key < key:
        at[0] += 1
    if at[0] < bitmap.count and items[bitmap.first + at[0]].key == key:
        return &items[bitmap.first + at[0]]
    return NULL


cdef void _gather(Slices index, Walk* walk, uint16_t key, const Container** s) noexcept nogil:
    cdef int i
    for i in range(index.slice_count):
        s[i] = _seek(index.pool.items, &index.slices[i], &walk.at[i], key)


cdef int _chunk(Slices index, Walk* walk, const Container* e, const CodeRange* ranges, Py_ssize_t count,
                fidx_work* w) noexcept nogil:
    """Rows of one chunk whose code lies in any range: NOTHING, EVERYTHING of the ebm, or WORDS in w.total."""
    cdef const Container* s[SLICES_MOST]
    cdef const uint8_t* exist
    cdef uint32_t least, most
    cdef uint64_t lo, hi, top_code = index.max_code()
    cdef int state = NOTHING, one
    cdef Py_ssize_t i
    _gather(index, walk, e.key, s)
    _bounds(e, &least, &most)
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
            one = _equal(s, index.slice_count, least, most, exist, lo, w)
        else:
            one = _compare(s, index.slice_count, least, most, exist, lo, hi, w)
        if one == EVERYTHING or one == BAD:
            return one
        if one == WORDS:
            if state == NOTHING:
                memcpy(w.total, w.acc, CHUNK_BYTES)
                state = WORDS
            else:
                kernels().or_into(w.total, <const uint8_t*> w.acc)
    return state


cdef int _bad(Slices index, uint16_t key) except -1 with gil:
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
        w = fidx_get_work()
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
                a = _chunk(first, &first_walk, e, first_ranges, first_count, w)
                first_walk.ebm += 1
            if g != NULL:
                # w.total and w.exist are used again by the second index
                if a == WORDS:
                    memcpy(w.spare, w.total, CHUNK_BYTES)
                b = _chunk(second, &second_walk, g, second_ranges, second_count, w)
                second_walk.ebm += 1
            if a == BAD or b == BAD:
                _bad(first, <uint16_t> key)
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
            _bad(index, key)
        return 0
    if negate:
        if not fill(e, w.e):
            _bad(index, key)
        kernels().andnot_into(w.e, <const uint8_t*> words)
        words = w.e
    if out.put_words(key, words):
        _bad(index, key)
    return 0


cdef int _emit_two(Slices index, RowsWriter out, uint16_t key, const Container* e, int a, uint64_t* a_words, const Container* g, int b,
                   uint64_t* b_words, bint negate, fidx_work* w) except -1 nogil:
    """Both indexes have rows in the chunk: the union of their answers, or what is left of both existence bitmaps."""
    if not fill(e, w.e) or not fill(g, w.f):
        _bad(index, key)
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
            _bad(index, key)
    elif out.put_words(key, w.acc):
        _bad(index, key)
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
        w = fidx_get_work()
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
                    _bad(first, <uint16_t> key)
                continue
            memset(w.acc, 0, CHUNK_BYTES)
            fidx_fill_range(w.acc, 0, limit)
            if e != NULL:
                if not fill(e, w.e):
                    _bad(first, <uint16_t> key)
                kernels().andnot_into(w.acc, <const uint8_t*> w.e)
            if g != NULL:
                if not fill(g, w.e):
                    _bad(first, <uint16_t> key)
                kernels().andnot_into(w.acc, <const uint8_t*> w.e)
            out.put_words(<uint16_t> key, w.acc)
    return 0


# ---- TOP-N

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


cdef bint _contains(const Container* s, uint32_t row) noexcept nogil:
    """Whether the chunk's row is in the container (binary search; any bytes end)."""
    cdef int lo = 0, hi, middle
    cdef uint32_t value
    if s == NULL:
        return False
    if s.kind == BITSET:
        return s.data[row >> 3] >> (row & 7) & 1
    hi = (<int> s.cardinality if s.kind == ARRAY else <int> s.run_count) - 1
    while lo <= hi:
        middle = (lo + hi) >> 1
        if s.kind == ARRAY:
            value = le16(s.data + 2 * middle)
            if value == row:
                return True
        else:
            value = le16(s.data + 4 * middle)
            if value <= row and row - value <= le16(s.data + 4 * middle + 2):
                return True
        if value < row:
            lo = middle + 1
        else:
            hi = middle - 1
    return False


cdef bint _codes(const Container** s, int slice_count, const uint64_t* rows, uint32_t row_total, uint32_t base,
                 Candidate* out, fidx_work* w) noexcept nogil:
    """The codes of the chunk's set rows, in row order. False when a run leaves the chunk."""
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
    for k in range(slice_count):
        if s[k] == NULL:
            continue
        if row_total <= GATHER_PROBE and s[k].kind != BITSET:
            for j in range(n):
                out[j].code |= <uint64_t> _contains(s[k], out[j].row & 65535) << k
            continue
        words = s[k].data
        if s[k].kind != BITSET:
            if not fill(s[k], w.scratch[0]):
                return False
            words = <const uint8_t*> w.scratch[0]
        for j in range(n):
            i = out[j].row & 65535
            out[j].code |= <uint64_t> (words[i >> 3] >> (i & 7) & 1) << k
    return True


cdef bint _best_of_chunk(const Container** s, int slice_count, uint64_t k, bint largest, uint64_t* rows,
                         fidx_work* w) noexcept nogil:
    """Leaves in ``rows`` k of its rows with the best codes (more than k rows on entry). Slices from high to low: the
    better half is taken whole while it fits into k, else searched on. False when a run leaves the chunk."""
    cdef uint64_t taken = 0, n
    cdef int i, j
    cdef uint32_t left, position
    memset(w.acc, 0, CHUNK_BYTES)
    for i in range(slice_count - 1, -1, -1):
        if s[i] == NULL:
            memset(w.spare, 0, CHUNK_BYTES)
        elif not fill(s[i], w.spare):
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


cdef class _Selection:
    """Rows to choose from, as parsed containers; None stands for all."""
    cdef Pool pool
    cdef Bitmap rows
    cdef bytes data
    cdef uint32_t at

    def __cinit__(self, rows, uint64_t row_count):
        cdef Fault fault
        self.pool = Pool.__new__(Pool)
        self.data = rows.serialize()
        if len(rows) and rows.max() >= row_count:
            raise ValueError(f"selected rows must be below row_count {row_count}, found {rows.max()}")
        parse(<const uint8_t*> <char*> self.data, len(self.data), row_count, self.pool, &self.rows, &fault)

    cdef bint clip(self, uint16_t key, uint64_t* words, uint64_t* spare) noexcept nogil:
        """Keeps the selected rows of a chunk; False when none is selected."""
        cdef const Container* s
        if self.at < self.rows.count and self.pool.items[self.rows.first + self.at].key > key:
            self.at = 0                                # chunks need not come in order
        s = _seek(self.pool.items, &self.rows, &self.at, key)
        if s == NULL:
            return False
        fill(s, spare)
        kernels().and_into(words, <const uint8_t*> spare)
        return True


cdef void _promise(Slices index, bint largest, Candidate* order) noexcept nogil:
    """For every chunk the best code its containers allow: a bit that some row may have (or lack)."""
    cdef const Container* s[SLICES_MOST]
    cdef const Container* e
    cdef uint32_t i, least, most
    cdef int k
    for i in range(index.ebm.count):
        e = &index.pool.items[index.ebm.first + i]
        _find_all(index, e.key, s)
        _bounds(e, &least, &most)
        order[i].row = i
        order[i].code = 0
        for k in range(index.slice_count):
            if (s[k] != NULL) if largest else _constant(s[k], least, most) == 1:
                order[i].code |= <uint64_t> 1 << k


cdef void _find_all(Slices index, uint16_t key, const Container** s) noexcept nogil:
    """The containers of one chunk, chunks in any order."""
    cdef uint32_t lo, hi, middle
    cdef const Container* items
    cdef int i
    for i in range(index.slice_count):
        items = index.pool.items + index.slices[i].first
        lo = 0
        hi = index.slices[i].count
        while lo < hi:
            middle = (lo + hi) >> 1
            if items[middle].key < key:
                lo = middle + 1
            else:
                hi = middle
        s[i] = &items[lo] if lo < index.slices[i].count and items[lo].key == key else NULL


cdef int top(Slices index, uint64_t k, bint largest, object selection, bint ties, RowsWriter out,
             uint64_t* found) except -1:
    """Writes the k rows with the largest (or smallest) codes among ``selection`` (BitMap or None), with ``ties`` also
    those that tie with the last one. ``found`` is their number.

    One pass keeps the best k so far; its worst code is the bound that later chunks must reach, evaluated by the fused
    kernel, so most chunks end after a few slices. Chunks come in the order of the best code their structure allows, so
    that on sorted data the first one settles the bound and the pass ends there."""
    cdef _Selection chosen = None if selection is None else _Selection(selection, index.row_count)
    cdef Candidate* best = NULL
    cdef Candidate* order
    cdef Candidate* grown
    cdef uint64_t held = 0, capacity = 0, bound = 0, n, j, wanted
    cdef bint bounded = False
    cdef Walk walk
    cdef const Container* e
    cdef const Container* s[SLICES_MOST]
    cdef uint32_t i, least, most
    cdef int state
    cdef fidx_work* w
    cdef CodeRange range_
    found[0] = 0
    if k == 0:
        return 0
    memset(&walk, 0, sizeof(Walk))
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
            w = fidx_get_work()
            _promise(index, largest, order)
            qsort(order, index.ebm.count, sizeof(Candidate), _by_code_down if largest else _by_code_up)
            for i in range(index.ebm.count):
                if bounded and (order[i].code < bound if largest else order[i].code > bound):
                    break                              # neither this chunk nor any later one reaches the bound
                e = &index.pool.items[index.ebm.first + order[i].row]
                if not fill(e, w.exist):
                    _bad(index, e.key)
                if chosen is not None and not chosen.clip(e.key, w.exist, w.spare):
                    continue
                _find_all(index, e.key, s)
                memcpy(w.total, w.exist, CHUNK_BYTES)
                if bounded:
                    _bounds(e, &least, &most)
                    state = _compare(s, index.slice_count, least, most, <const uint8_t*> w.exist,
                                     bound if largest else 0, index.max_code() if largest else bound, w)
                    if state == BAD:
                        _bad(index, e.key)
                    if state == NOTHING:
                        continue
                    if state == WORDS:
                        memcpy(w.total, w.acc, CHUNK_BYTES)
                n = kernels().popcount(<const uint8_t*> w.total)
                if n == 0:
                    continue
                if n > k:
                    if not _best_of_chunk(s, index.slice_count, k, largest, w.total, w):
                        _bad(index, e.key)
                    n = k
                if held + n > capacity:
                    capacity = max(held + n, capacity * 2)
                    grown = <Candidate*> realloc(best, capacity * sizeof(Candidate))
                    if grown == NULL:
                        with gil:
                            raise MemoryError()
                    best = grown
                if not _codes(s, index.slice_count, w.total, <uint32_t> n, <uint32_t> e.key << 16, best + held, w):
                    _bad(index, e.key)
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
    cdef Walk walk
    cdef const Container* e
    cdef uint32_t i
    cdef int state
    cdef fidx_work* w
    memset(&walk, 0, sizeof(Walk))
    with nogil:
        w = fidx_get_work()
        for i in range(index.ebm.count):
            e = &index.pool.items[index.ebm.first + i]
            state = _chunk(index, &walk, e, range_, 1, w)
            if state == BAD:
                _bad(index, e.key)
            if state == NOTHING:
                continue
            if state == EVERYTHING and not fill(e, w.total):
                _bad(index, e.key)
            if chosen is not None and not chosen.clip(e.key, w.total, w.spare):
                continue
            if out.put_words(e.key, w.total):
                _bad(index, e.key)
    return 0


cdef int _write_rows(Slices index, Candidate* rows, uint64_t count, RowsWriter out) except -1:
    """Writes rows in ascending order."""
    cdef uint64_t i = 0
    cdef uint32_t key, value
    cdef fidx_work* w = fidx_get_work()
    while i < count:
        key = rows[i].row >> 16
        memset(w.e, 0, CHUNK_BYTES)
        while i < count and rows[i].row >> 16 == key:
            value = rows[i].row & 65535
            w.e[value >> 6] |= <uint64_t> 1 << (value & 63)
            i += 1
        if out.put_words(<uint16_t> key, w.e):
            _bad(index, <uint16_t> key)
    return 0


cdef object code_counts(Slices index, object selection):
    """{code: rows that have it} over ``selection`` (BitMap, or None for all)."""
    cdef _Selection chosen = None if selection is None else _Selection(selection, index.row_count)
    cdef Candidate* codes
    cdef Walk walk
    cdef const Container* e
    cdef const Container* s[SLICES_MOST]
    cdef uint32_t i, n, j, first, least, most
    cdef int k, constant
    cdef uint64_t code
    cdef fidx_work* w = fidx_get_work()
    cdef dict counts = {}
    memset(&walk, 0, sizeof(Walk))
    codes = <Candidate*> malloc(CHUNK_ROWS * sizeof(Candidate))
    if codes == NULL:
        raise MemoryError()
    try:
        for i in range(index.ebm.count):
            e = &index.pool.items[index.ebm.first + i]
            if not fill(e, w.exist):
                _bad(index, e.key)
            if chosen is not None and not chosen.clip(e.key, w.exist, w.spare):
                continue
            n = kernels().popcount(<const uint8_t*> w.exist)
            if n == 0:
                continue
            _gather(index, &walk, e.key, s)
            _bounds(e, &least, &most)
            code = 0
            for k in range(index.slice_count):
                constant = _constant(s[k], least, most)
                if constant < 0:
                    break
                code |= <uint64_t> constant << k
            else:
                counts[code] = counts.get(code, 0) + n
                continue
            with nogil:
                if not _codes(s, index.slice_count, w.exist, n, <uint32_t> e.key << 16, codes, w):
                    _bad(index, e.key)
                qsort(codes, n, sizeof(Candidate), _by_code_up)
            first = 0
            for j in range(1, n + 1):
                if j == n or codes[j].code != codes[first].code:
                    counts[codes[first].code] = counts.get(codes[first].code, 0) + (j - first)
                    first = j
    finally:
        free(codes)
    return counts

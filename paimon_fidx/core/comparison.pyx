"""lo <= code <= hi on one chunk of a bit-sliced index, on its serialized containers.

Bitset containers are read where they lie, sparse ones are unpacked into thread-local scratch, and one fused pass
(kernels.h) decides a block of rows in registers. Before it, whole slices are decided by their structure: an absent
container is a slice of zeros, a run over all candidates a slice of ones; on sorted data that and the shrinking window
of undecided rows leave little to read. Slices are only ever combined under the candidates, so bits outside them
cannot reach a result.
"""
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memset

from paimon_fidx.core.cursor cimport le16
from paimon_fidx.core.roaring cimport (
    ARRAY, BITSET, CHUNK_BYTES, CHUNK_WORDS, RUN, Container, fidx_fill_range, fidx_move_values, fidx_plane, fidx_program,
    fidx_set_values, fidx_state, fill, kernels)

cdef extern from *:
    """
    #if defined(_MSC_VER)
    #define FIDX_TLS __declspec(thread)
    #else
    #define FIDX_TLS __thread
    #endif
    static FIDX_TLS fidx_work fidx_tls_work;
    static inline fidx_work *fidx_get_work(void) {
      fidx_work *w = &fidx_tls_work;
      if (!w->ones[0]) memset(w->ones, 255, 8192);
      return w;
    }
    """
    fidx_work* fidx_get_work() noexcept nogil

cdef extern from * nogil:
    int __builtin_ctzll(unsigned long long)

cdef enum:
    BLOCK_MOST = 256           # windows are multiples of the widest kernel's block
    EQUAL_PROBE = 256          # so few survivors of an equality are looked up in the sparse slices one by one


cdef fidx_work* workspace() noexcept nogil:
    """This thread's scratch. One call uses it at a time; nothing in it outlives the call."""
    return fidx_get_work()


cdef enum Phase:
    COMMON = 0
    BOTH = 1
    LOW = 2
    HIGH = 3


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
    cdef int first = c.begin // BLOCK_MOST, last = (c.end + BLOCK_MOST - 1) // BLOCK_MOST
    while first < last and not _undecided(c, first):
        first += 1
    while last > first and not _undecided(c, last - 1):
        last -= 1
    c.begin = first * BLOCK_MOST
    c.end = last * BLOCK_MOST


cdef uint64_t _undecided(const Comparison* c, int block) noexcept nogil:
    """Not 0 when a row of the block is undecided."""
    cdef int i
    cdef uint64_t found = 0
    for i in range(block * (BLOCK_MOST >> 3), (block + 1) * (BLOCK_MOST >> 3)):
        found |= c.state.e[i] | c.state.f[i]
    return found


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


cdef int constant_bit(const Container* s, uint32_t least, uint32_t most) noexcept nogil:
    """0 or 1 when the slice has that bit for every candidate row in [least, most]; -1 when it must be read."""
    cdef uint32_t start
    if s == NULL:
        return 0
    if s.kind == RUN and s.run_count == 1:
        start = le16(s.data)
        if start <= least and start + le16(s.data + 2) >= most:
            return 1
    return -1


cdef void bounds(const Container* e, uint32_t* least, uint32_t* most) noexcept nogil:
    """Rows of the ebm container lie in [least, most]; whole chunk where that is not cheap to know."""
    least[0] = 0
    most[0] = 65535
    if e.kind == RUN and e.run_count == 1:
        least[0] = le16(e.data)
        most[0] = least[0] + le16(e.data + 2)


cdef int compare(const ChunkSlices* s, uint32_t least, uint32_t most, const uint8_t* exist,
                  uint64_t lo, uint64_t hi, fidx_work* w) noexcept nogil:
    """Which candidates (`exist`, rows within [least, most]) have lo <= code <= hi; lo <= hi <= max code."""
    cdef Comparison c
    cdef uint64_t mask = ~<uint64_t> 0 if s.count >= 64 else (<uint64_t> 1 << s.count) - 1
    cdef uint64_t below, low_bit, high_bit
    cdef int i, constant
    cdef bint low_done, high_done, low_in, high_in, any_plane = False
    cdef Phase phase = COMMON
    cdef const Container* plane
    cdef fidx_plane* step
    cdef const uint8_t* words
    cdef uint64_t rest = ~<uint64_t> 0
    cdef bint ended = False, zero_leaves
    cdef int merging = -1      # the phase of the union being collected in the last scratch
    _start(&c, w, exist)
    for i in range(s.count - 1, -1, -1):
        below = mask >> (s.count - 1 - i)          # bits i..0
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
        plane = slice_at(s, i)
        low_bit = lo >> i & 1
        high_bit = hi >> i & 1
        constant = constant_bit(plane, least, most)
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
            zero_leaves = plane.kind == ARRAY and phase != BOTH and (phase == HIGH or low_bit == 0) and (
                phase == LOW or high_bit == 0)
            if zero_leaves and merging == phase:
                # Rows with a 1 leave the tie, whichever of these slices has it: one union for all of them.
                fidx_set_values(w.scratch[c.scratch_used - 1], plane.data, plane.cardinality)
                continue
            if _pending(&c) >= 8 or c.scratch_used == FIDX_SCRATCH:
                if not _flush(&c, False, 0, phase == BOTH):
                    return WORDS
                _shrink(&c)
            words = <const uint8_t*> w.scratch[c.scratch_used]
            if not _fill_window(plane, w.scratch[c.scratch_used], c.begin, c.end):
                return BAD
            c.scratch_used += 1
            merging = <int> phase if zero_leaves else -1
        if plane.kind == BITSET:
            merging = -1
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


cdef bint contains(const Container* s, uint32_t row) noexcept nogil:
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


cdef int equal(const ChunkSlices* s, uint32_t least, uint32_t most, const uint8_t* exist,
                uint64_t code, fidx_work* w) noexcept nogil:
    """Which candidates have exactly ``code``: the bitsets in one pass, then the few survivors are looked up in the
    sparse slices, which are never unpacked for them."""
    cdef Comparison c
    cdef const Container* sparse[SLICES_MOST]
    cdef const Container* plane
    cdef bint wanted[SLICES_MOST]
    cdef int i, constant, sparse_count = 0
    cdef uint64_t bit, x
    cdef uint32_t k, row
    _start(&c, w, exist)
    for i in range(s.count - 1, -1, -1):
        bit = code >> i & 1
        plane = slice_at(s, i)
        constant = constant_bit(plane, least, most)
        if constant >= 0:
            if <uint64_t> constant != bit:
                return NOTHING
        elif plane.kind == BITSET:
            c.prog.common[c.prog.common_count].words = plane.data
            c.prog.common[c.prog.common_count].bit = 0 - bit
            c.prog.common_count += 1
        else:
            sparse[sparse_count] = plane
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
                    if contains(sparse[i], row) != wanted[i]:
                        w.acc[k] &= ~(<uint64_t> 1 << (row & 63))
                        break
                x &= x - 1
    return WORDS

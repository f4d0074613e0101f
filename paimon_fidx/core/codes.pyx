"""Keys of one column to codes: the distinct keys ascending, and for each row the number of its key.

How the keys are put in order depends on what they are:

    fixed width, small range    a table over the range: counted, ranked, looked up
    fixed width, few distinct   a hash table gives each key a number; the few keys are sorted
    fixed width, otherwise      key - least and row packed into 64 bits (or a pair), least significant digits first
    bytes                       a hash table gives each string a number; the distinct ones are sorted by 64 bits that tell
                                them apart (see sort_group), strings that agree in those by what follows

NULL rows take no part. Whatever was found first, codes or grouped rows, the other is derived from it when asked for.
"""
import os

from libc.string cimport memcmp, memcpy, memset

cimport cython

from paimon_fidx.core.columns cimport BytesChunk, bytes_at
from paimon_fidx.core.keys cimport BYTES
from paimon_fidx.core.planes cimport bit_length

cdef enum:
    DIGIT_BITS = 11            # 2,048 counters and as many open pages per pass: what a first-level TLB and cache bear
    MOST_DIGITS = 6
    FEW = 8192                 # distinct keys the small hash table takes
    FEW_SLOTS = 32768
    DIRECT_MOST = 1 << 20      # entries of the table over a small range
    BATCH = 64                 # strings hashed before their slots are visited
    SMALL_GROUP = 24           # strings sorted by comparing them

cdef uint32_t NONE = 0xffffffff
# Chosen per process, so that nobody can prepare strings that all meet in one slot.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")

ctypedef fused key_t:
    int32_t
    int64_t

cdef struct Pair:
    uint64_t key
    uint64_t row

cdef struct Group:             # strings that agree in their first `depth` bytes
    Py_ssize_t first
    Py_ssize_t count
    Py_ssize_t depth

cdef extern from *:
    """
    #include <stdint.h>
    #include <string.h>
    static inline void fidx_prefetch(const void *at) { __builtin_prefetch(at); }
    static inline uint64_t fidx_load64(const uint8_t *p) { uint64_t x; memcpy(&x, p, 8); return x; }
    static inline uint64_t fidx_load32(const uint8_t *p) { uint32_t x; memcpy(&x, p, 4); return x; }
    static inline uint64_t fidx_fold(uint64_t a, uint64_t b) {
      unsigned __int128 p = (unsigned __int128)a * b;
      return (uint64_t)p ^ (uint64_t)(p >> 64);
    }
    /* Moves the bits chosen by mask together at the low end, in order. */
    static inline uint64_t fidx_squeeze(uint64_t x, const uint64_t *moves, uint64_t mask) {
      x &= mask;
      for (int i = 0; i < 6; i++) {
        uint64_t t = x & moves[i];
        x = (x ^ t) | (t >> (1 << i));
      }
      return x;
    }
    """
    void prefetch "fidx_prefetch"(const void*) noexcept nogil
    uint64_t load64 "fidx_load64"(const uint8_t*) noexcept nogil
    uint64_t load32 "fidx_load32"(const uint8_t*) noexcept nogil
    uint64_t fold "fidx_fold"(uint64_t, uint64_t) noexcept nogil
    uint64_t squeeze "fidx_squeeze"(uint64_t, const uint64_t*, uint64_t) noexcept nogil


cdef inline bint is_valid(const uint64_t* valid, Py_ssize_t row) noexcept nogil:
    return valid == NULL or valid[row >> 6] >> (row & 63) & 1


cdef inline void set_bit(uint64_t* words, Py_ssize_t i) noexcept nogil:
    words[i >> 6] |= <uint64_t> 1 << (i & 63)


@cython.final
cdef class Codes:
    """Nothing is sorted before a format asks; ``column`` is not read again afterwards."""

    def __cinit__(self, KeyColumn column not None):
        self.column = column
        self.arena = Arena()
        self.narrow = NULL
        self.wide = NULL
        self.texts = NULL
        self.codes = self.rows = NULL
        self.heads = NULL
        self.kept = column.row_count - column.null_count
        self.sorted = False

    cdef int need_codes(self) except -1:
        """Fills ``codes``."""
        cdef Py_ssize_t g, i, end = 0
        if not self.sorted:
            self.sort(True)
        if self.codes == NULL:
            self.codes = <uint32_t*> self.arena.take_zeroed(4 * self.column.row_count)
            with nogil:
                i = 0
                for g in range(self.distinct_count):
                    end = next_head(self.heads, i + 1, self.kept)
                    while i < end:
                        self.codes[self.rows[i]] = <uint32_t> g
                        i += 1
        return 0

    cdef int need_rows(self) except -1:
        """Fills ``rows`` and ``heads``."""
        cdef Py_ssize_t n = self.column.row_count, i
        cdef uint32_t* place
        cdef uint32_t before = 0, count
        if not self.sorted:
            self.sort(False)
        if self.rows == NULL:
            place = <uint32_t*> self.arena.take_zeroed(4 * self.distinct_count)
            self.rows = <uint32_t*> self.arena.take(4 * self.kept)
            self.take_heads()
            with nogil:
                for i in range(n):
                    if is_valid(self.column.valid, i):
                        place[self.codes[i]] += 1
                for i in range(self.distinct_count):
                    count = place[i]
                    set_bit(self.heads, before)
                    place[i] = before
                    before += count
                for i in range(n):
                    if is_valid(self.column.valid, i):
                        self.rows[place[self.codes[i]]] = <uint32_t> i
                        place[self.codes[i]] += 1
            self.arena.drop(place)
        return 0

    cdef int take_heads(self) except -1:
        self.heads = <uint64_t*> self.arena.take_zeroed(8 * ((self.kept + 63) >> 6))
        return 0

    cdef int sort(self, bint want_codes) except -1:
        cdef KeyColumn column = self.column
        cdef Py_ssize_t kept = self.kept
        cdef int64_t least = 0, most = 0
        cdef uint64_t span
        self.sorted = True
        self.distinct_count = 0
        if kept == 0:
            self.codes = <uint32_t*> self.arena.take_zeroed(4 * column.row_count)
            self.take_keys(0)
            return 0
        if column.kind == BYTES:
            return self.sort_texts()
        with nogil:
            if column.wide != NULL:
                extremes(column.wide, column.row_count, column.valid, &least, &most)
            else:
                extremes(column.narrow, column.row_count, column.valid, &least, &most)
        span = <uint64_t> most - <uint64_t> least
        if span < DIRECT_MOST and <Py_ssize_t> span < 2 * kept + 4096:
            return self.sort_direct(least, span, want_codes)
        if self.sort_few():
            return 0
        if bit_length(span) + bit_length(<uint64_t> column.row_count) <= 64:
            return self.sort_many(least, span, want_codes)
        return self.sort_wide(least, want_codes)

    cdef int take_keys(self, Py_ssize_t count) except -1:
        """Room for the distinct keys."""
        self.distinct_count = count
        if self.column.kind == BYTES:
            self.texts = <Text*> self.arena.take(count * sizeof(Text))
        elif self.column.wide != NULL:
            self.wide = <int64_t*> self.arena.take(8 * count)
        else:
            self.narrow = <int32_t*> self.arena.take(4 * count)
        return 0

    cdef int sort_direct(self, int64_t least, uint64_t span, bint want_codes) except -1:
        """A counter per possible key."""
        cdef KeyColumn column = self.column
        cdef Py_ssize_t n = column.row_count, v, size = <Py_ssize_t> span + 1, distinct = 0
        cdef uint32_t* table = <uint32_t*> self.arena.take_zeroed(4 * size)
        cdef uint32_t before = 0, count
        with nogil:
            if column.wide != NULL:
                count_keys(column.wide, n, column.valid, least, table)
            else:
                count_keys(column.narrow, n, column.valid, least, table)
            for v in range(size):
                distinct += table[v] != 0
        self.take_keys(distinct)
        if want_codes:
            self.codes = <uint32_t*> self.arena.take(4 * n)
        else:
            self.take_heads()
            self.rows = <uint32_t*> self.arena.take(4 * self.kept)
        distinct = 0
        with nogil:
            for v in range(size):
                count = table[v]
                if count:
                    if column.wide != NULL:
                        (<int64_t*> self.wide)[distinct] = least + v
                    else:
                        (<int32_t*> self.narrow)[distinct] = <int32_t> (least + v)
                    if want_codes:
                        table[v] = <uint32_t> distinct
                    else:
                        set_bit(self.heads, before)
                        table[v] = before
                    before += count
                    distinct += 1
            if want_codes:
                if column.wide != NULL:
                    look_up(column.wide, n, column.valid, least, table, self.codes)
                else:
                    look_up(column.narrow, n, column.valid, least, table, self.codes)
            else:
                if column.wide != NULL:
                    deal_rows(column.wide, n, column.valid, least, table, self.rows)
                else:
                    deal_rows(column.narrow, n, column.valid, least, table, self.rows)
        self.arena.drop(table)
        return 0

    cdef bint sort_few(self) except -1:
        """Numbers keys as they appear, up to FEW; False when there are more."""
        cdef KeyColumn column = self.column
        cdef Py_ssize_t n = column.row_count, distinct, i
        cdef Pair* pairs
        cdef Pair* spare
        cdef Pair* order
        cdef uint32_t* ranks
        cdef uint32_t* slots = <uint32_t*> self.arena.take(4 * FEW_SLOTS)
        cdef int64_t* seen = <int64_t*> self.arena.take(8 * (FEW + 1))
        self.codes = <uint32_t*> self.arena.take(4 * n)
        with nogil:
            if column.wide != NULL:
                distinct = number_keys(column.wide, n, column.valid, slots, seen, self.codes)
            else:
                distinct = number_keys(column.narrow, n, column.valid, slots, seen, self.codes)
        if distinct < 0:
            self.arena.drop(self.codes)
            self.codes = NULL
        else:
            self.take_keys(distinct)
            pairs = <Pair*> self.arena.take(distinct * sizeof(Pair))
            spare = <Pair*> self.arena.take(distinct * sizeof(Pair))
            ranks = <uint32_t*> self.arena.take(4 * distinct)
            with nogil:
                for i in range(distinct):
                    pairs[i].key = <uint64_t> seen[i] ^ <uint64_t> 1 << 63
                    pairs[i].row = i
                order = sort_pairs(pairs, spare, distinct)
                for i in range(distinct):
                    ranks[order[i].row] = <uint32_t> i
                    if column.wide != NULL:
                        (<int64_t*> self.wide)[i] = seen[order[i].row]
                    else:
                        (<int32_t*> self.narrow)[i] = <int32_t> seen[order[i].row]
            self.rank(ranks)
            self.arena.drop(pairs)
            self.arena.drop(spare)
            self.arena.drop(ranks)
        self.arena.drop(seen)
        self.arena.drop(slots)
        return distinct >= 0

    cdef int rank(self, const uint32_t* ranks) except -1:
        """Numbers in order of appearance become numbers in key order."""
        cdef Py_ssize_t i
        with nogil:
            if self.column.valid == NULL:
                for i in range(self.column.row_count):
                    self.codes[i] = ranks[self.codes[i]]
            else:
                for i in range(self.column.row_count):
                    self.codes[i] = ranks[self.codes[i]] if is_valid(self.column.valid, i) else 0
        return 0

    cdef int sort_many(self, int64_t least, uint64_t span, bint want_codes) except -1:
        """Key and row in one word each."""
        cdef KeyColumn column = self.column
        cdef Py_ssize_t n = column.row_count, kept = n - column.null_count, i, distinct = 0
        cdef int row_bits = bit_length(<uint64_t> n)
        cdef uint64_t row_mask = (<uint64_t> 1 << row_bits) - 1, key, last = 0, word
        cdef uint32_t* other
        cdef uint64_t* words = <uint64_t*> self.arena.take_pages(8 * kept)
        cdef uint64_t* spare = <uint64_t*> self.arena.take_pages(8 * kept)
        cdef uint64_t* order
        with nogil:
            if column.wide != NULL:
                pack_rows(column.wide, n, column.valid, least, row_bits, words)
            else:
                pack_rows(column.narrow, n, column.valid, least, row_bits, words)
            order = sort_words(words, spare, kept, row_bits, row_bits + bit_length(span))
        # The array that does not hold the result now takes the keys, and behind narrow ones the codes or rows.
        other = <uint32_t*> (spare if order == words else words)
        if column.wide != NULL:
            self.wide = <int64_t*> other
        else:
            self.narrow = <int32_t*> other
        if not want_codes:
            self.rows = other + kept if column.wide == NULL else <uint32_t*> self.arena.take(4 * kept)
            self.take_heads()
        elif column.null_count:
            self.codes = <uint32_t*> self.arena.take_zeroed(4 * n)
        else:
            self.codes = other + kept if column.wide == NULL else <uint32_t*> self.arena.take(4 * n)
        with nogil:
            for i in range(kept):
                word = order[i]
                key = word >> row_bits
                if i == 0 or key != last:
                    if column.wide != NULL:
                        (<int64_t*> self.wide)[distinct] = <int64_t> (<uint64_t> least + key)
                    else:
                        (<int32_t*> self.narrow)[distinct] = <int32_t> (<uint64_t> least + key)
                    if not want_codes:
                        set_bit(self.heads, i)
                    distinct += 1
                    last = key
                if want_codes:
                    self.codes[word & row_mask] = <uint32_t> (distinct - 1)
                else:
                    self.rows[i] = <uint32_t> (word & row_mask)
        self.distinct_count = distinct
        self.arena.drop(order)
        return 0

    cdef int sort_wide(self, int64_t least, bint want_codes) except -1:
        """The same for keys that leave no room for the row."""
        cdef KeyColumn column = self.column
        cdef Py_ssize_t n = column.row_count, kept = n - column.null_count, i, distinct = 0
        cdef Pair* pairs = <Pair*> self.arena.take_pages(kept * sizeof(Pair))
        cdef Pair* spare = <Pair*> self.arena.take_pages(kept * sizeof(Pair))
        cdef Pair* order
        cdef Pair* other
        cdef uint64_t last = 0
        with nogil:
            kept = 0
            for i in range(n):
                if is_valid(column.valid, i):
                    pairs[kept].key = <uint64_t> column.wide[i] - <uint64_t> least
                    pairs[kept].row = i
                    kept += 1
            order = sort_pairs(pairs, spare, kept)
        # The array that does not hold the result now takes the keys, and behind them the codes or rows.
        other = spare if order == pairs else pairs
        self.wide = <int64_t*> other
        if want_codes and column.null_count:
            self.codes = <uint32_t*> self.arena.take_zeroed(4 * n)
        elif want_codes:
            self.codes = <uint32_t*> (<int64_t*> other + kept)
        else:
            self.take_heads()
            self.rows = <uint32_t*> (<int64_t*> other + kept)
        with nogil:
            for i in range(kept):
                if i == 0 or order[i].key != last:
                    last = order[i].key
                    (<int64_t*> self.wide)[distinct] = <int64_t> (<uint64_t> least + last)
                    if not want_codes:
                        set_bit(self.heads, i)
                    distinct += 1
                if want_codes:
                    self.codes[order[i].row] = <uint32_t> (distinct - 1)
                else:
                    self.rows[i] = <uint32_t> order[i].row
        self.distinct_count = distinct
        self.arena.drop(order)
        return 0

    cdef int sort_texts(self) except -1:
        cdef KeyColumn column = self.column
        cdef Numbering numbering = Numbering(self.arena)
        cdef uint32_t* ranks
        self.codes = <uint32_t*> self.arena.take(4 * column.row_count)
        numbering.run(column, self.codes)
        self.distinct_count = numbering.count
        ranks = numbering.order()
        self.texts = numbering.texts
        self.rank(ranks)
        self.arena.drop(ranks)
        return 0


# ---------------------------------------------------------------------------------------------- fixed-width keys

cdef void extremes(const key_t* values, Py_ssize_t n, const uint64_t* valid, int64_t* least, int64_t* most) noexcept nogil:
    cdef Py_ssize_t i = 0
    cdef key_t low, high
    while not is_valid(valid, i):
        i += 1
    low = high = values[i]
    if valid == NULL:
        for i in range(n):
            low = values[i] if values[i] < low else low
            high = values[i] if values[i] > high else high
    else:
        for i in range(n):
            if is_valid(valid, i):
                low = values[i] if values[i] < low else low
                high = values[i] if values[i] > high else high
    least[0], most[0] = low, high


cdef void count_keys(const key_t* values, Py_ssize_t n, const uint64_t* valid, int64_t least,
                     uint32_t* table) noexcept nogil:
    cdef Py_ssize_t i
    if valid == NULL:
        for i in range(n):
            table[values[i] - least] += 1
    else:
        for i in range(n):
            if is_valid(valid, i):
                table[values[i] - least] += 1


cdef void look_up(const key_t* values, Py_ssize_t n, const uint64_t* valid, int64_t least, const uint32_t* table,
                  uint32_t* codes) noexcept nogil:
    cdef Py_ssize_t i
    if valid == NULL:
        for i in range(n):
            codes[i] = table[values[i] - least]
    else:
        for i in range(n):
            codes[i] = table[values[i] - least] if is_valid(valid, i) else 0


cdef void deal_rows(const key_t* values, Py_ssize_t n, const uint64_t* valid, int64_t least, uint32_t* table,
                    uint32_t* rows) noexcept nogil:
    """Each row to the next place of its key's group."""
    cdef Py_ssize_t i
    cdef uint32_t at
    for i in range(n):
        if is_valid(valid, i):
            at = table[values[i] - least]
            table[values[i] - least] = at + 1
            rows[at] = <uint32_t> i


cdef void pack_rows(const key_t* values, Py_ssize_t n, const uint64_t* valid, int64_t least, int row_bits,
                    uint64_t* out) noexcept nogil:
    cdef Py_ssize_t i
    if valid == NULL:
        for i in range(n):
            out[i] = (<uint64_t> <int64_t> values[i] - <uint64_t> least) << row_bits | <uint64_t> i
    else:
        for i in range(n):
            if is_valid(valid, i):
                out[0] = (<uint64_t> <int64_t> values[i] - <uint64_t> least) << row_bits | <uint64_t> i
                out += 1


cdef Py_ssize_t number_keys(const key_t* values, Py_ssize_t n, const uint64_t* valid, uint32_t* slots, int64_t* seen,
                            uint32_t* codes) noexcept nogil:
    """Numbers keys as they appear; the number of distinct ones, or -1 when there are more than FEW."""
    cdef Py_ssize_t i, count = 0
    cdef uint32_t at
    cdef int64_t value
    memset(slots, 255, 4 * FEW_SLOTS)
    for i in range(n):
        if not is_valid(valid, i):
            codes[i] = 0
            continue
        value = values[i]
        at = <uint32_t> (((<uint64_t> value ^ SEED) * <uint64_t> 0x9E3779B97F4A7C15) >> 49)
        while slots[at] != NONE and seen[slots[at]] != value:
            at = (at + 1) & (FEW_SLOTS - 1)
        if slots[at] == NONE:
            if count == FEW:
                return -1
            slots[at] = <uint32_t> count
            seen[count] = value
            count += 1
        codes[i] = slots[at]
    return count


cdef int digits_of(int bits, int* width) noexcept nogil:
    """Passes a radix sort over so many bits takes, and the bits of each."""
    cdef int passes = (bits + DIGIT_BITS - 1) // DIGIT_BITS
    width[0] = (bits + passes - 1) // passes if passes else 1
    return passes


cdef uint64_t* sort_words(uint64_t* words, uint64_t* spare, Py_ssize_t n, int low, int high) noexcept nogil:
    """Stable radix sort by bits [low, high); returns whichever array holds the result."""
    cdef uint32_t[MOST_DIGITS][2048] counts
    cdef uint32_t* count
    cdef uint64_t* other
    cdef uint32_t total, c
    cdef Py_ssize_t i
    cdef int width = 1, passes = digits_of(high - low, &width), p, shift
    cdef uint64_t mask = (<uint64_t> 1 << width) - 1, word
    cdef bint alike
    memset(counts, 0, passes * sizeof(counts[0]))
    for i in range(n):
        word = words[i] >> low
        for p in range(passes):
            counts[p][word >> (p * width) & mask] += 1
    for p in range(passes):
        count = &counts[p][0]
        shift = low + p * width
        if count[words[0] >> shift & mask] == n:
            continue                       # one digit for all
        total = 0
        for i in range(<Py_ssize_t> mask + 1):
            c = count[i]
            count[i] = total
            total += c
        for i in range(n):
            word = words[i]
            c = count[word >> shift & mask]
            count[word >> shift & mask] = c + 1
            spare[c] = word
        other = words
        words = spare
        spare = other
    return words


cdef Pair* sort_pairs(Pair* pairs, Pair* spare, Py_ssize_t n) noexcept nogil:
    """Stable radix sort by key; returns whichever array holds the result."""
    cdef uint32_t[MOST_DIGITS][2048] counts
    cdef uint32_t* count
    cdef Pair* other
    cdef uint32_t total, c
    cdef Py_ssize_t i
    cdef uint64_t seen = 0, mask, digit
    cdef int width = 1, passes, p, shift
    for i in range(n):
        seen |= pairs[i].key
    passes = digits_of(bit_length(seen), &width)
    mask = (<uint64_t> 1 << width) - 1
    memset(counts, 0, passes * sizeof(counts[0]))
    for i in range(n):
        for p in range(passes):
            counts[p][pairs[i].key >> (p * width) & mask] += 1
    for p in range(passes):
        count = &counts[p][0]
        shift = p * width
        if count[pairs[0].key >> shift & mask] == n:
            continue
        total = 0
        for i in range(<Py_ssize_t> mask + 1):
            c = count[i]
            count[i] = total
            total += c
        for i in range(n):
            digit = pairs[i].key >> shift & mask
            spare[count[digit]] = pairs[i]
            count[digit] += 1
        other = pairs
        pairs = spare
        spare = other
    return pairs


# ------------------------------------------------------------------------------------------------------- strings

cdef inline uint64_t hash_bytes(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """Two words at a time, each pair multiplied to 128 bits and folded; the ends of a string may overlap."""
    cdef uint64_t hash = SEED ^ <uint64_t> size, a, b
    while size > 16:
        hash = fold(load64(data) ^ <uint64_t> 0xA0761D6478BD642F ^ hash, load64(data + 8) ^ <uint64_t> 0xE7037ED1A0B428DB)
        data += 16
        size -= 16
    if size >= 8:
        a = load64(data)
        b = load64(data + size - 8)
    elif size >= 4:
        a = load32(data)
        b = load32(data + size - 4)
    elif size > 0:
        a = <uint64_t> data[0] << 16 | <uint64_t> data[size >> 1] << 8 | data[size - 1]
        b = 0
    else:
        a = b = 0
    hash = fold(a ^ <uint64_t> 0xA0761D6478BD642F ^ hash, b ^ <uint64_t> 0xE7037ED1A0B428DB)
    return fold(hash, <uint64_t> 0x8EBC6AF09C88C6E3)


cdef inline int check_size(Py_ssize_t size) except -1 nogil:
    if size > 0x7fffffff or size < 0:
        with gil:
            raise ValueError(f"a string of {size} bytes does not fit into an index")
    return 0


@cython.final
cdef class Numbering:
    """Gives every distinct string a number in order of appearance, then sorts them."""
    cdef Arena arena
    cdef Text* texts
    cdef uint32_t* hashes      # upper half of each string's hash: to grow the table, to avoid comparing
    cdef Py_ssize_t count
    cdef Py_ssize_t capacity
    cdef uint32_t* slots
    cdef uint64_t slot_mask

    def __cinit__(self, Arena arena):
        self.arena = arena
        self.count = 0
        self.capacity = 1024
        self.texts = <Text*> arena.take(self.capacity * sizeof(Text))
        self.hashes = <uint32_t*> arena.take(4 * self.capacity)
        self.slot_mask = 4 * self.capacity - 1
        self.slots = <uint32_t*> arena.take(4 * (self.slot_mask + 1))
        memset(self.slots, 255, 4 * (self.slot_mask + 1))

    cdef int grow(self) except -1 nogil:
        """Room for the next batch; the table stays at most half full."""
        cdef Py_ssize_t i
        cdef uint64_t at
        if self.count + BATCH <= self.capacity:
            return 0
        with gil:
            self.capacity *= 2
            self.texts = <Text*> self.arena.resize(self.texts, self.capacity * sizeof(Text))
            self.hashes = <uint32_t*> self.arena.resize(self.hashes, 4 * self.capacity)
            if <uint64_t> (2 * self.capacity) > self.slot_mask + 1:
                self.arena.drop(self.slots)
                self.slot_mask = 4 * self.capacity - 1
                self.slots = <uint32_t*> self.arena.take(4 * (self.slot_mask + 1))
        memset(self.slots, 255, 4 * (self.slot_mask + 1))
        for i in range(self.count):
            at = self.hashes[i] & self.slot_mask
            while self.slots[at] != NONE:
                at = (at + 1) & self.slot_mask
            self.slots[at] = <uint32_t> i
        return 0

    cdef inline uint32_t number(self, const uint8_t* data, Py_ssize_t size, uint32_t hash) noexcept nogil:
        cdef uint64_t at = hash & self.slot_mask
        cdef uint32_t id
        while True:
            id = self.slots[at]
            if id == NONE:
                break
            if self.hashes[id] == hash and self.texts[id].size == size and (
                    size == 0 or memcmp(self.texts[id].at, data, size) == 0):
                return id
            at = (at + 1) & self.slot_mask
        id = <uint32_t> self.count
        self.slots[at] = id
        self.hashes[id] = hash
        self.texts[id].at = data
        self.texts[id].size = <uint32_t> size
        self.count += 1
        return id

    cdef int run(self, KeyColumn column, uint32_t* codes) except -1:
        cdef Py_ssize_t c, row = 0, slots
        cdef BytesChunk* chunk
        cdef uint32_t* known = NULL
        for c in range(column.chunk_count):
            chunk = column.chunks + c
            if chunk.index != NULL and chunk.slot_count < 8 * chunk.row_count + 1024:
                # A dictionary: each of its strings is looked up once, when a row names it.
                known = <uint32_t*> self.arena.take(4 * (chunk.slot_count + 1))
                memset(known, 255, 4 * (chunk.slot_count + 1))
            with nogil:
                if known != NULL:
                    self.add_known(chunk, known, codes + row)
                else:
                    self.add(chunk, column.valid, row, codes + row)
            row += chunk.row_count
            self.arena.drop(known)
            known = NULL
        self.arena.drop(self.slots)
        self.arena.drop(self.hashes)
        return 0

    cdef int add_known(self, const BytesChunk* chunk, uint32_t* known, uint32_t* codes) except -1 nogil:
        cdef Py_ssize_t i, size = 0
        cdef int32_t slot
        cdef const uint8_t* data = NULL
        for i in range(chunk.row_count):
            slot = chunk.index[i]
            if slot < 0:
                codes[i] = 0
                continue
            if known[slot] == NONE:
                self.grow()
                bytes_at(chunk, slot, &data, &size)
                check_size(size)
                known[slot] = self.number(data, size, <uint32_t> (hash_bytes(data, size) >> 32))
            codes[i] = known[slot]
        return 0

    cdef int add(self, const BytesChunk* chunk, const uint64_t* valid, Py_ssize_t row, uint32_t* codes) except -1 nogil:
        """Rows in batches: hashes first, so that the slots of the table are on their way when they are looked at."""
        cdef Text[BATCH] texts
        cdef uint32_t[BATCH] hashes
        cdef uint32_t[BATCH] places
        cdef Py_ssize_t at = 0, i, size = 0, batch, kept, slot
        cdef const uint8_t* data = NULL
        while at < chunk.row_count:
            batch = min(chunk.row_count - at, <Py_ssize_t> BATCH)
            self.grow()
            kept = 0
            for i in range(at, at + batch):
                if not is_valid(valid, row + i):
                    codes[i] = 0
                    continue
                slot = chunk.first + i if chunk.index == NULL else chunk.index[i]
                bytes_at(chunk, slot, &data, &size)
                check_size(size)
                texts[kept].at = data
                texts[kept].size = <uint32_t> size
                hashes[kept] = <uint32_t> (hash_bytes(data, size) >> 32)
                places[kept] = <uint32_t> i
                prefetch(self.slots + (hashes[kept] & self.slot_mask))
                kept += 1
            for i in range(kept):
                slot = self.slots[hashes[i] & self.slot_mask]
                if <uint32_t> slot != NONE:
                    prefetch(self.hashes + slot)
                    prefetch(self.texts + slot)
            for i in range(kept):
                codes[places[i]] = self.number(texts[i].at, texts[i].size, hashes[i])
            at += batch
        return 0

    cdef uint32_t* order(self) except NULL:
        """Sorts the texts; returns number -> rank."""
        cdef Py_ssize_t n = self.count, i
        cdef uint64_t* words = <uint64_t*> self.arena.take(8 * n)
        cdef uint64_t* spare = <uint64_t*> self.arena.take(8 * n)
        cdef uint32_t* numbers = <uint32_t*> self.arena.take(4 * n)
        cdef uint32_t* ranks
        cdef Text* placed
        with nogil:
            for i in range(n):
                numbers[i] = <uint32_t> i
            sort_strings(self.texts, numbers, n, words, spare, self.arena)
        self.arena.drop(spare)
        self.arena.drop(words)
        ranks = <uint32_t*> self.arena.take(4 * n)
        placed = <Text*> self.arena.take(n * sizeof(Text))
        with nogil:
            for i in range(n):
                ranks[numbers[i]] = <uint32_t> i
                placed[i] = self.texts[numbers[i]]
        self.arena.drop(self.texts)
        self.arena.drop(numbers)
        self.texts = placed
        return ranks


cdef inline uint64_t swap_bytes(uint64_t word) noexcept nogil:
    word = (word & <uint64_t> 0x00ff00ff00ff00ff) << 8 | (word >> 8) & <uint64_t> 0x00ff00ff00ff00ff
    word = (word & <uint64_t> 0x0000ffff0000ffff) << 16 | (word >> 16) & <uint64_t> 0x0000ffff0000ffff
    return word << 32 | word >> 32


cdef inline uint64_t big_word(const Text* text, Py_ssize_t depth) noexcept nogil:
    """Eight bytes from ``depth`` on, the first one highest, zeros behind the end."""
    cdef Py_ssize_t left = <Py_ssize_t> text.size - depth, i
    cdef uint64_t word = 0
    if left >= 8:
        return swap_bytes(load64(text.at + depth))
    if left <= 0:
        return 0
    if text.size >= 8:                     # the last eight bytes, those before depth shifted out
        return swap_bytes(load64(text.at + text.size - 8)) << (8 * (8 - left))
    for i in range(8):
        word = word << 8 | (text.at[depth + i] if i < left else 0)
    return word


cdef inline int compare_from(const Text* a, const Text* b, Py_ssize_t depth) noexcept nogil:
    cdef Py_ssize_t shorter = min(a.size, b.size)
    cdef int order = memcmp(a.at + depth, b.at + depth, shorter - depth) if shorter > depth else 0
    return order if order else (a.size > b.size) - (a.size < b.size)


cdef void squeeze_moves(uint64_t mask, uint64_t* moves) noexcept nogil:
    """The six steps that bring the bits of ``mask`` together (Steele; Warren, "Hacker's Delight", section 7-4)."""
    cdef uint64_t below = ~mask << 1, parity, move
    cdef int i, j
    for i in range(6):
        parity = below
        for j in range(6):
            parity ^= parity << (1 << j)
        move = parity & mask
        moves[i] = move
        mask = mask ^ move | move >> (1 << i)
        below &= ~parity


cdef int sort_strings(const Text* texts, uint32_t* numbers, Py_ssize_t n, uint64_t* words, uint64_t* spare,
                      Arena arena) except -1 nogil:
    """Sorts ``numbers`` by the strings they stand for. Groups still tied wait on a stack, so no input can nest calls."""
    cdef Group* waiting = NULL
    cdef Py_ssize_t waiting_count = 0, capacity = 64, i, j, depth
    cdef Group group
    cdef int row_bits = bit_length(<uint64_t> n)
    cdef uint64_t* order
    with gil:
        waiting = <Group*> arena.take(capacity * sizeof(Group))
    waiting[0].first, waiting[0].count, waiting[0].depth = 0, n, 0
    waiting_count = 1
    while waiting_count:
        waiting_count -= 1
        group = waiting[waiting_count]
        if group.count <= SMALL_GROUP:
            sort_small(texts, numbers + group.first, group.count, group.depth)
            continue
        depth = sort_group(texts, numbers + group.first, group.count, group.depth, row_bits, words, spare, &order)
        i = 0
        while i < group.count:
            j = i + 1
            while j < group.count and order[j] >> row_bits == order[i] >> row_bits:
                j += 1
            if j - i > 1:
                if waiting_count == capacity:
                    with gil:
                        capacity *= 2
                        waiting = <Group*> arena.resize(waiting, capacity * sizeof(Group))
                waiting[waiting_count].first = group.first + i
                waiting[waiting_count].count = j - i
                waiting[waiting_count].depth = depth
                waiting_count += 1
            i = j
    with gil:
        arena.drop(waiting)
    return 0


cdef void sort_small(const Text* texts, uint32_t* numbers, Py_ssize_t n, Py_ssize_t depth) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef uint32_t number
    for i in range(1, n):
        number = numbers[i]
        j = i
        while j > 0 and compare_from(texts + numbers[j - 1], texts + number, depth) > 0:
            numbers[j] = numbers[j - 1]
            j -= 1
        numbers[j] = number


cdef Py_ssize_t sort_group(const Text* texts, uint32_t* numbers, Py_ssize_t n, Py_ssize_t depth, int row_bits,
                           uint64_t* words, uint64_t* spare, uint64_t** order) noexcept nogil:
    """Orders distinct strings that agree up to ``depth`` by what tells them apart next; returns the depth reached.

    The bytes all of them share are skipped. Of the 16 that follow, only bits that differ somewhere are kept, highest
    first (decimal digits differ in 4 bits of 8), as many as fit above the string's place in 64 bits. Strings whose words
    in ``order`` are equal above ``row_bits`` are still tied: they agree up to the depth returned. Ends count as zeros;
    where nothing but ends differs, the length decides.
    """
    cdef Py_ssize_t i, common, k
    cdef const Text* head = texts + numbers[0]
    cdef const Text* text
    cdef uint64_t any0 = 0, all0 = ~<uint64_t> 0, any1 = 0, all1 = ~<uint64_t> 0, word, row_mask
    cdef uint64_t[6] moves0
    cdef uint64_t[6] moves1
    cdef uint64_t* free
    cdef int bits0, bits1, room = 64 - row_bits
    common = head.size
    for i in range(1, n):
        text = texts + numbers[i]
        common = min(common, <Py_ssize_t> text.size)
        k = depth
        while k < common and text.at[k] == head.at[k]:
            k += 1
        common = k
        if common == depth:
            break
    for i in range(n):
        word = big_word(texts + numbers[i], common)
        any0 |= word
        all0 &= word
        words[i] = word
        word = big_word(texts + numbers[i], common + 8)
        any1 |= word
        all1 &= word
        spare[i] = word
    any0 &= ~all0
    any1 &= ~all1
    bits0, bits1 = count_ones(any0), count_ones(any1)
    while bits0 > room:                    # the lowest bits go until the rest fits
        any0 &= any0 - 1
        bits0 -= 1
    while bits0 + bits1 > room:
        any1 &= any1 - 1
        bits1 -= 1
    if bits0 + bits1:
        squeeze_moves(any0, moves0)
        squeeze_moves(any1, moves1)
        for i in range(n):
            word = squeeze(words[i], moves0, any0) << bits1 | squeeze(spare[i], moves1, any1)
            words[i] = word << row_bits | <uint64_t> i
    else:
        # Sixteen zero bytes, or the end before them: shorter ones first, the others are tied behind the zeros.
        for i in range(n):
            words[i] = <uint64_t> min(<Py_ssize_t> texts[numbers[i]].size - common, <Py_ssize_t> 16) << row_bits | <uint64_t> i
        bits0 = 5
        common += 16
    order[0] = sort_words(words, spare, n, row_bits, row_bits + bits0 + bits1)
    free = spare if order[0] == words else words
    row_mask = (<uint64_t> 1 << row_bits) - 1
    for i in range(n):
        free[i] = numbers[order[0][i] & row_mask]
    for i in range(n):
        numbers[i] = <uint32_t> free[i]
    return common


cdef int count_ones(uint64_t word) noexcept nogil:
    cdef int n = 0
    while word:
        word &= word - 1
        n += 1
    return n

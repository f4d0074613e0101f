"""Keys of one column to codes: the distinct keys ascending, and for each row the number of its key.

How the keys are put in order depends on what they are:

    fixed width, small range    a table over the range: counted, ranked, looked up
    fixed width, few distinct   a hash table gives each key a number; the few keys are sorted
    fixed width, otherwise      key - least and row packed into 64 bits (or a pair), least significant digits first
    bytes                       a hash table gives each string a number; the distinct ones are sorted (see texts)

NULL rows take no part. Whatever was found first, codes or grouped rows, the other is derived from it when asked for.
"""
import os

from libc.string cimport memset

cimport cython

from paimon_fidx.core.columns cimport is_valid
from paimon_fidx.core.keys cimport BYTES
from paimon_fidx.core.planes cimport bit_length
from paimon_fidx.core.sorting cimport Pair, sort_pairs, sort_words
from paimon_fidx.core.texts cimport Numbering

cdef enum:
    FEW = 8192                 # distinct keys the small hash table takes
    FEW_SLOTS = 32768
    DIRECT_MOST = 1 << 20      # entries of the table over a small range

cdef uint32_t NONE = 0xffffffff
# Chosen per process, so that nobody can prepare strings that all meet in one slot.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")

ctypedef fused key_t:
    int32_t
    int64_t

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

cdef void extremes(const key_t* values, Py_ssize_t n, const uint64_t* valid, int64_t* least,
                   int64_t* most) noexcept nogil:
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

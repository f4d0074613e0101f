"""Strings of a column to numbers and to their order: hashed first, so that each distinct one is sorted once.

Sorting looks at 64 bits that tell the strings of a group apart (see sort_group), groups that are still tied are sorted
again by what follows, small ones by comparing.
"""
import os

from libc.stdint cimport int32_t
from libc.string cimport memcmp, memset

cimport cython

from paimon_fidx.core.columns cimport bytes_at, is_valid
from paimon_fidx.core.planes cimport bit_length
from paimon_fidx.core.sorting cimport sort_words

cdef enum:
    BATCH = 64                 # strings hashed before their slots are visited
    SMALL_GROUP = 24           # strings sorted by comparing them

cdef uint32_t NONE = 0xffffffff
# Chosen per process, so that nobody can prepare strings that all meet in one slot.
cdef uint64_t SEED = int.from_bytes(os.urandom(8), "little")

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


cdef inline uint64_t hash_bytes(const uint8_t* data, Py_ssize_t size) noexcept nogil:
    """Two words at a time, each pair multiplied to 128 bits and folded; the ends of a string may overlap."""
    cdef uint64_t hash = SEED ^ <uint64_t> size, a, b
    while size > 16:
        hash = fold(load64(data) ^ <uint64_t> 0xA0761D6478BD642F ^ hash,
                    load64(data + 8) ^ <uint64_t> 0xE7037ED1A0B428DB)
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

    cdef uint32_t number(self, const uint8_t* data, Py_ssize_t size, uint32_t hash) noexcept nogil:
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
    """Sorts ``numbers`` by the strings they stand for. Groups still tied wait on a stack: no input can nest calls."""
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
    first (decimal digits differ in 4 bits of 8), as many as fit above the string's place in 64 bits. Strings whose
    words in ``order`` are equal above ``row_bits`` are still tied: they agree up to the depth returned. Ends count as zeros;
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
            k = min(<Py_ssize_t> texts[numbers[i]].size - common, <Py_ssize_t> 16)
            words[i] = <uint64_t> k << row_bits | <uint64_t> i
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

"""Radix sorts, least significant digit first: stable, a few passes whatever the order of the input."""
from libc.stdint cimport uint32_t
from libc.string cimport memset

from paimon_fidx.core.planes cimport bit_length

cdef enum:
    DIGIT_BITS = 11            # 2,048 counters and as many open pages per pass: what a first-level TLB and cache bear
    MOST_DIGITS = 6


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

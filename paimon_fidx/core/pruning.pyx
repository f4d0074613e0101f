"""Pruning many small index files at once: Bloom filters only, files in memory.

The driver of a large table asks thousands of embedded indexes the same question, and most of them hold a Bloom filter
or two. Here each file costs a walk over its head and the probes, without a Python object: about 0.1 microseconds,
where opening it as a FileIndex costs 10. What is not plainly answered here (another index kind on the column, anything
that looks damaged) is left to that full path, which says what is wrong.
"""
cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp, memcpy

from cpython.object cimport PyObject

from paimon_fidx.core.bloom_filter cimport bit_position, probe
from paimon_fidx.core.cursor cimport be16, be32s, be64

cdef enum:
    SKIP = 0
    REMAIN = 1
    ASK = 2                    # the full path decides
    STEPS_MOST = 64            # of a predicate; a longer one takes the full path
    HEAD_FIXED = 20            # magic, version, head_length, column_count

    HEAD_KEPT = 1024
    OTHERS_MOST = 64           # columns that are not asked for, and kinds of a column; more take the full path
    KINDS_MOST = 8
    AHEAD = 16                 # files whose bytes are under way while one is looked at

cdef extern from "Python.h":
    PyObject* PyList_GET_ITEM(object, Py_ssize_t)

cdef extern from *:
    """
    static inline void fidx_prefetch(const char *at) { __builtin_prefetch(at); }
    """
    void fidx_prefetch(const char*) nogil

cdef uint64_t MAGIC = 1493475289347502
cdef const char* BLOOM = b"bloom-filter"
cdef enum: BLOOM_LEN = 12

cdef struct Leaf:
    const uint8_t* name        # modified UTF-8
    Py_ssize_t name_len
    const uint64_t* hashes
    Py_ssize_t hash_count      # -1: no filter can rule the leaf out


@cython.final
cdef class BloomPruner:
    """A predicate over Bloom filters.

    Parameters
    ----------
    names : list of bytes           column of each leaf, as the index file spells it (modified UTF-8)
    hashes : list of list or None   per leaf the hashes of its keys; None: the leaf rules nothing out
    program : list of int           postfix: i >= 0 pushes leaf i; -(2n) joins the last n by AND, -(2n + 1) by OR
    """
    cdef Leaf leaves[STEPS_MOST]
    cdef int steps[STEPS_MOST]
    cdef int leaf_count, step_count
    cdef uint64_t* hashes
    cdef uint8_t head[HEAD_KEPT]   # of the last file walked, and what was found there
    cdef Py_ssize_t head_len
    cdef Py_ssize_t least_size # a file with this head is at least so long
    cdef Py_ssize_t starts[STEPS_MOST]
    cdef Py_ssize_t lengths[STEPS_MOST]
    cdef Py_ssize_t probed_at  # where its first filter was probed first
    cdef object held

    def __cinit__(self, names, hashes, program):
        cdef Py_ssize_t i, j = 0
        if len(names) > STEPS_MOST or len(program) > STEPS_MOST:
            raise ValueError(f"at most {STEPS_MOST} leaves and steps")
        self.hashes = <uint64_t*> calloc(sum(len(h) for h in hashes if h is not None) + 1, sizeof(uint64_t))
        if self.hashes == NULL:
            raise MemoryError()
        self.held = list(names)
        self.leaf_count = len(names)
        self.step_count = len(program)
        for i in range(self.leaf_count):
            name = self.held[i]
            self.leaves[i].name = <const uint8_t*> PyBytes_AS_STRING(name)
            self.leaves[i].name_len = PyBytes_GET_SIZE(name)
            self.leaves[i].hashes = self.hashes + j
            self.leaves[i].hash_count = -1 if hashes[i] is None else len(hashes[i])
            for h in hashes[i] or ():
                self.hashes[j] = h
                j += 1
        for i in range(self.step_count):
            self.steps[i] = program[i]

    def __dealloc__(self):
        free(self.hashes)

    def run(self, sources, answers):
        """For each source its answer out of ``answers``, a tuple of three: no row matches, some may, open the file to
        know. Returns (list of answers, number of files to open)."""
        cdef list items = sources if type(sources) is list else list(sources)
        cdef Py_ssize_t i, n = len(items), left = 0
        cdef list results = [None] * n
        cdef tuple found = answers
        cdef Py_buffer buffer
        cdef uint8_t answer
        cdef PyObject* ahead
        for i in range(n):
            # Files lie anywhere in memory, so each costs a few cache misses, unless they are under way already. The
            # first probe is where it was in the file before: tables write filters of one size (2.5 times as fast).
            if i + AHEAD < n:
                ahead = PyList_GET_ITEM(items, i + AHEAD)
                fidx_prefetch(<const char*> ahead)
                fidx_prefetch(<const char*> ahead + 64)
                ahead = PyList_GET_ITEM(items, i + AHEAD // 2)
                if PyBytes_CheckExact(<object> ahead) and PyBytes_GET_SIZE(<object> ahead) > self.probed_at:
                    fidx_prefetch(PyBytes_AS_STRING(<object> ahead) + self.probed_at)
            item = <object> PyList_GET_ITEM(items, i)
            if PyBytes_CheckExact(item):
                answer = self.decide(<const uint8_t*> PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item))
            elif PyObject_CheckBuffer(item):
                try:
                    PyObject_GetBuffer(item, &buffer, PyBUF_SIMPLE)
                except BufferError:
                    answer = ASK
                else:
                    answer = self.decide(<const uint8_t*> buffer.buf, buffer.len)
                    PyBuffer_Release(&buffer)
            else:
                answer = ASK
            left += answer == ASK
            results[i] = found[answer]
        return results, left

    cdef uint8_t decide(self, const uint8_t* data, Py_ssize_t size) noexcept nogil:
        """The answer of one file. Tables write many files with the same head, byte for byte: it is walked once."""
        cdef uint8_t found[STEPS_MOST]
        cdef uint8_t stack[STEPS_MOST]
        cdef int top = 0, n, k, joined, i
        cdef Py_ssize_t start, length
        if not self.head_len or size < self.least_size or memcmp(data, self.head, <size_t> self.head_len) != 0:
            self.head_len = 0
            if not self.walk(data, size):
                return ASK
        for i in range(self.leaf_count):
            start = self.starts[i]
            length = self.lengths[i]
            if start == 0:                             # the file has no index on this column
                found[i] = SKIP if self.leaves[i].hash_count == 0 else REMAIN
                continue
            n = be32s(data + start)
            if n < 1 or n > (length - 4) * 8:
                return ASK
            found[i] = self.ask(&self.leaves[i], data + start + 4, <uint32_t> (length - 4) * 8, n)
        for i in range(self.step_count):
            n = self.steps[i]
            if n >= 0:
                stack[top] = found[n]
                top += 1
                continue
            joined = (-n) // 2
            top -= joined
            for k in range(1, joined):
                if (-n) & 1:
                    stack[top] |= stack[top + k]
                else:
                    stack[top] &= stack[top + k]
            top += 1
        return stack[0]

    cdef bint walk(self, const uint8_t* data, Py_ssize_t size) noexcept nogil:
        """Finds each leaf's filter: its column may stand in the head once, with a Bloom filter alone. False: ASK."""
        cdef Py_ssize_t head, at = HEAD_FIXED, name_at, name_len, length, name_end
        cdef int64_t column_count, index_count, c, k, start, k_len
        cdef int leaf, i, others = 0
        cdef bint wanted
        cdef Py_ssize_t names[OTHERS_MOST]
        cdef Py_ssize_t ends[KINDS_MOST]
        cdef Py_ssize_t lengths[KINDS_MOST]
        if size < HEAD_FIXED or be64(data) != MAGIC or be32s(data + 8) != 1:
            return False
        head = be32s(data + 12)
        column_count = be32s(data + 16)
        if head < HEAD_FIXED or head > size or column_count < 0:
            return False
        for leaf in range(self.leaf_count):
            self.starts[leaf] = 0
        self.least_size = head
        for c in range(column_count):
            if head - at < 6:
                return False
            name_len = be16(data + at)
            name_at = at + 2
            at += 2 + name_len
            if head - at < 4 or not _is_text(data + name_at, name_len):
                return False
            index_count = be32s(data + at)
            at += 4
            wanted = False
            for leaf in range(self.leaf_count):
                if self.named(leaf, data + name_at, name_len):
                    if self.starts[leaf] != 0 or index_count != 1:
                        return False
                    wanted = True
            if index_count < 0 or index_count > KINDS_MOST:
                return False
            if not wanted:                             # a column that stands twice may have a kind twice
                if others == OTHERS_MOST:
                    return False
                for i in range(others):
                    if be16(data + names[i]) == name_len and memcmp(data + names[i] + 2, data + name_at,
                                                                    <size_t> name_len) == 0:
                        return False
                names[others] = name_at - 2
                others += 1
            for k in range(index_count):
                if head - at < 10:
                    return False
                length = be16(data + at)
                at += 2 + length
                if head - at < 8 or not _is_text(data + at - length, length):
                    return False
                start = be32s(data + at)
                name_end = at
                at += 8
                k_len = be32s(data + at - 4)
                for i in range(k):                     # a kind stands once on a column
                    if lengths[i] == length and memcmp(data + ends[i] - length, data + name_end - length,
                                                       <size_t> length) == 0:
                        return False
                ends[k] = name_end
                lengths[k] = length
                if start == -1 and k_len == 0 and not wanted:   # an empty entry of another column
                    continue
                if start < head or start > size or k_len < 0 or k_len > size - start:
                    return False
                self.least_size = max(self.least_size, start + k_len)
                if not wanted:
                    continue
                if (length != BLOOM_LEN or memcmp(data + name_end - length, BLOOM, BLOOM_LEN) != 0
                        or k_len < 5 or k_len > 0x10000000):
                    return False
                for leaf in range(self.leaf_count):
                    if self.named(leaf, data + name_at, name_len):
                        self.starts[leaf] = start
                        self.lengths[leaf] = k_len
        if at != head and (head - at < 4 or be32s(data + at) != head - at - 4):
            return False
        if self.leaf_count and self.starts[0] and self.leaves[0].hash_count > 0:
            self.probed_at = self.starts[0] + 4 + (
                bit_position(self.leaves[0].hashes[0], 1, <uint32_t> (self.lengths[0] - 4) * 8) >> 3)
        if head <= HEAD_KEPT:
            memcpy(self.head, data, <size_t> head)
            self.head_len = head
        return True

    cdef bint named(self, int leaf, const uint8_t* name, Py_ssize_t name_len) noexcept nogil:
        return self.leaves[leaf].name_len == name_len and memcmp(self.leaves[leaf].name, name, <size_t> name_len) == 0

    cdef uint8_t ask(self, const Leaf* leaf, const uint8_t* bits, uint32_t bit_count, int hash_count) noexcept nogil:
        cdef Py_ssize_t i
        if leaf.hash_count < 0:
            return REMAIN
        for i in range(leaf.hash_count):
            if probe(bits, bit_count, hash_count, leaf.hashes[i]):
                return REMAIN
        return SKIP


cdef bint _is_text(const uint8_t* p, Py_ssize_t size) noexcept nogil:
    """Whether the bytes are modified UTF-8, as the container asks of every name."""
    cdef Py_ssize_t i = 0
    while i < size:
        if 0 < p[i] < 0x80:
            i += 1
        elif p[i] >> 5 == 6 and i + 1 < size and p[i + 1] >> 6 == 2:
            i += 2
        elif p[i] >> 4 == 14 and i + 2 < size and p[i + 1] >> 6 == 2 and p[i + 2] >> 6 == 2:
            i += 3
        else:
            return False
    return True

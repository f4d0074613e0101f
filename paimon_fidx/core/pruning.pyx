"""Pruning many small index files at once: Bloom filters only, files in memory.

The driver of a large table asks thousands of embedded indexes the same question, and most of them hold a Bloom filter
or two. Here each file costs a walk over its head and the probes, without a Python object: about 0.1 microseconds,
where opening it as a FileIndex costs 10. What is not plainly answered here (another index kind on the column, anything
that looks damaged) is left to that full path, which says what is wrong.
"""
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_GET_SIZE
from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free
from libc.string cimport memcmp

from paimon_fidx.core.bloom_filter cimport probe
from paimon_fidx.core.cursor cimport be16, be32s, be64

cdef enum:
    SKIP = 0
    REMAIN = 1
    ASK = 2                    # the full path decides
    STEPS_MOST = 64            # of a predicate; a longer one takes the full path
    HEAD_FIXED = 20            # magic, version, head_length, column_count

cdef uint64_t MAGIC = 1493475289347502
cdef const char* BLOOM = b"bloom-filter"
cdef enum: BLOOM_LEN = 12

cdef struct Leaf:
    const uint8_t* name        # modified UTF-8
    Py_ssize_t name_len
    const uint64_t* hashes
    Py_ssize_t hash_count      # -1: no filter can rule the leaf out


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

    def run(self, sources):
        """One byte a source: 0 no row matches, 1 some may, 2 open the file to know."""
        cdef list items = sources if type(sources) is list else list(sources)
        cdef Py_ssize_t i, n = len(items)
        cdef bytearray out = bytearray(n)
        cdef uint8_t* result = out
        cdef Py_buffer buffer
        for i in range(n):
            item = items[i]
            if PyBytes_CheckExact(item):
                result[i] = self.decide(<const uint8_t*> PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item))
            elif PyObject_CheckBuffer(item):
                try:
                    PyObject_GetBuffer(item, &buffer, PyBUF_SIMPLE)
                except BufferError:
                    result[i] = ASK
                    continue
                result[i] = self.decide(<const uint8_t*> buffer.buf, buffer.len)
                PyBuffer_Release(&buffer)
            else:
                result[i] = ASK
        return out

    cdef uint8_t decide(self, const uint8_t* data, Py_ssize_t size) noexcept nogil:
        """Walks the head once; each leaf's column may stand in it once, with a Bloom filter alone."""
        cdef uint8_t found[STEPS_MOST]
        cdef uint8_t stack[STEPS_MOST]
        cdef int top = 0, n, joined
        cdef Py_ssize_t head, at = HEAD_FIXED, name_at, name_len, length
        cdef int64_t column_count, index_count, c, k, start
        cdef int i, leaf
        cdef bint wanted
        if size < HEAD_FIXED or be64(data) != MAGIC or be32s(data + 8) != 1:
            return ASK
        head = be32s(data + 12)
        column_count = be32s(data + 16)
        if head < HEAD_FIXED or head > size or column_count < 0:
            return ASK
        for leaf in range(self.leaf_count):
            found[leaf] = ASK
        for c in range(column_count):
            if head - at < 6:
                return ASK
            name_len = be16(data + at)
            name_at = at + 2
            at += 2 + name_len
            if head - at < 4:
                return ASK
            index_count = be32s(data + at)
            at += 4
            wanted = False
            for leaf in range(self.leaf_count):
                if self.leaves[leaf].name_len == name_len and memcmp(
                        self.leaves[leaf].name, data + name_at, <size_t> name_len) == 0:
                    if found[leaf] != ASK or index_count != 1:
                        return ASK
                    wanted = True
            if index_count < 0:
                return ASK
            for k in range(index_count):
                if head - at < 10:
                    return ASK
                length = be16(data + at)
                at += 2 + length
                if head - at < 8:
                    return ASK
                start = be32s(data + at)
                if not wanted:
                    at += 8
                    continue
                if length != BLOOM_LEN or memcmp(data + at - length, BLOOM, BLOOM_LEN) != 0 or start < head:
                    return ASK
                length = be32s(data + at + 4)
                at += 8
                if start > size or length > size - start or length < 5 or length > 0x10000000:
                    return ASK
                n = be32s(data + start)
                if n < 1 or n > (length - 4) * 8:
                    return ASK
                for leaf in range(self.leaf_count):
                    if self.leaves[leaf].name_len == name_len and memcmp(
                            self.leaves[leaf].name, data + name_at, <size_t> name_len) == 0:
                        found[leaf] = self.ask(&self.leaves[leaf], data + start + 4, <uint32_t> (length - 4) * 8, n)
        if at != head and (head - at < 4 or be32s(data + at) != head - at - 4):
            return ASK
        for i in range(self.step_count):
            n = self.steps[i]
            if n >= 0:
                if found[n] == ASK:                # the file has no index on this column
                    found[n] = SKIP if self.leaves[n].hash_count == 0 else REMAIN
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

    cdef uint8_t ask(self, const Leaf* leaf, const uint8_t* bits, uint32_t bit_count, int hash_count) noexcept nogil:
        cdef Py_ssize_t i
        if leaf.hash_count < 0:
            return REMAIN
        for i in range(leaf.hash_count):
            if probe(bits, bit_count, hash_count, leaf.hashes[i]):
                return REMAIN
        return SKIP

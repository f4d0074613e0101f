"""Memory of the writers: scratch that is freed even when a build fails, and the bytes object that a build fills.

A body is written straight into the bytes object handed to the caller. It grows by reallocation, which moves pages
rather than bytes at these sizes, and memory that was reserved but never written costs nothing.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, _PyBytes_Resize
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF, Py_XDECREF
from libc.stdlib cimport calloc, free, malloc, realloc
from libc.string cimport memcpy

cimport cython

# Starts and lengths in an index file are signed 32-bit numbers.
cdef Py_ssize_t LARGEST = 0x7fffffff


cdef extern from "pages.h" nogil:
    void* fidx_map_pages(size_t)
    void fidx_unmap_pages(void*, size_t)

cdef enum:
    MAPPED_FROM = 1 << 20      # bytes from which take_pages asks the system


cdef inline void free_block(Block* block) noexcept:
    if block.mapped:
        fidx_unmap_pages(block.at, block.mapped)
    else:
        free(block.at)


cdef object no_memory(size_t size):
    return MemoryError(f"{size} bytes of scratch memory for building an index")


@cython.final
cdef class Arena:
    def __cinit__(self):
        self.blocks = NULL
        self.block_count = self.block_capacity = 0

    def __dealloc__(self):
        cdef Py_ssize_t i
        for i in range(self.block_count):
            free_block(self.blocks + i)
        free(self.blocks)

    cdef int add_slot(self) except -1:
        """A place for one more block, so that nothing can fail once the block exists."""
        cdef void* table
        if self.block_count == self.block_capacity:
            table = realloc(self.blocks, (2 * self.block_capacity + 16) * sizeof(Block))
            if table == NULL:
                raise no_memory((2 * self.block_capacity + 16) * sizeof(Block))
            self.blocks = <Block*> table
            self.block_capacity = 2 * self.block_capacity + 16
        self.blocks[self.block_count].mapped = 0
        return 0

    cdef void* take(self, size_t size) except NULL:
        """Memory from malloc; its content is arbitrary."""
        return self.resize(NULL, size)

    cdef void* take_zeroed(self, size_t size) except NULL:
        cdef void* at
        self.add_slot()
        at = calloc(size if size else 1, 1)
        if at == NULL:
            raise no_memory(size)
        self.blocks[self.block_count].at = at
        self.block_count += 1
        return at

    cdef void* take_pages(self, size_t size) except NULL:
        """Memory that goes back to the system the moment it is dropped; never resized."""
        cdef void* at
        if size < MAPPED_FROM:
            return self.take(size)
        self.add_slot()
        at = fidx_map_pages(size)
        if at == NULL:
            raise no_memory(size)
        self.blocks[self.block_count].at = at
        self.blocks[self.block_count].mapped = size
        self.block_count += 1
        return at

    cdef void* resize(self, void* block, size_t size) except NULL:
        """A block from ``take`` with another size, or a new one for NULL."""
        cdef Py_ssize_t i
        cdef void* moved
        if block == NULL:
            self.add_slot()
            i = self.block_count
        else:
            i = self.block_count - 1
            while self.blocks[i].at != block:
                i -= 1
        moved = realloc(block, size if size else 1)
        if moved == NULL:
            raise no_memory(size)
        self.blocks[i].at = moved
        if block == NULL:
            self.block_count += 1
        return moved

    cdef void drop(self, void* block) noexcept:
        """Frees one block; NULL and pointers that are no block's beginning are left alone."""
        cdef Py_ssize_t i
        if block == NULL:
            return
        for i in range(self.block_count - 1, -1, -1):
            if self.blocks[i].at == block:
                free_block(self.blocks + i)
                self.block_count -= 1
                self.blocks[i] = self.blocks[self.block_count]
                return


@cython.final
cdef class Output:
    def __cinit__(self):
        self.held = NULL
        self.base = NULL
        self.used = self.capacity = 0

    def __dealloc__(self):
        Py_XDECREF(<PyObject*> self.held)

    cdef int ensure(self, Py_ssize_t more) except -1 nogil:
        """Room for ``more`` bytes behind ``used``; ``base`` may move."""
        if more <= self.capacity - self.used:
            return 0
        with gil:
            return self.grow(more)

    cdef int grow(self, Py_ssize_t more) except -1:
        cdef Py_ssize_t capacity = max(self.used + more, self.capacity + self.capacity // 2, 4096)
        cdef object fresh
        cdef PyObject* moved = <PyObject*> self.held
        if self.used > LARGEST:
            raise ValueError("the index would be larger than 2 GiB, the most its format can address")
        if moved == NULL:
            fresh = PyBytes_FromStringAndSize(NULL, capacity)
            Py_INCREF(fresh)
            moved = <PyObject*> fresh
            self.held = moved
            del fresh
        else:
            self.held = NULL               # a failed resize frees the object
            _PyBytes_Resize(&moved, capacity)
            self.held = moved
        self.base = <uint8_t*> PyBytes_AS_STRING(<object> moved)
        self.capacity = capacity
        return 0

    cdef int put(self, bytes piece) except -1:
        self.ensure(len(piece))
        memcpy(self.base + self.used, PyBytes_AS_STRING(piece), len(piece))
        self.used += len(piece)
        return 0

    @property
    def length(self):
        """Bytes written so far."""
        return self.used

    def finish(self):
        """The bytes, once; the output is empty afterwards.

        Raises ValueError when they are more than an index file can address (2 GiB).
        """
        cdef PyObject* moved
        cdef object result
        if self.used > LARGEST:
            raise ValueError("the index would be larger than 2 GiB, the most its format can address")
        self.ensure(0)
        if self.held == NULL:
            return b""
        moved = <PyObject*> self.held
        self.held = NULL
        _PyBytes_Resize(&moved, self.used)
        result = <object> moved
        Py_XDECREF(moved)
        self.base = NULL
        self.used = self.capacity = 0
        return result

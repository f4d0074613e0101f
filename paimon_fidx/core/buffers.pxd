from libc.stdint cimport uint8_t


cdef struct Block:
    void* at
    size_t mapped                  # bytes, of pages straight from the system; 0: from malloc

cdef class Arena:
    """Scratch memory of one build, freed together or piece by piece."""
    cdef Block* blocks
    cdef Py_ssize_t block_count
    cdef Py_ssize_t block_capacity
    cdef void* take(self, size_t size) except NULL
    cdef void* take_pages(self, size_t size) except NULL
    cdef void* take_zeroed(self, size_t size) except NULL
    cdef int add_slot(self) except -1
    cdef void* resize(self, void* block, size_t size) except NULL
    cdef void drop(self, void* block) noexcept


cdef class Output:
    """A growing bytes object: every index body is written where it will stay."""
    cdef void* held            # the bytes object, owned
    cdef uint8_t* base         # its first byte
    cdef Py_ssize_t used
    cdef Py_ssize_t capacity
    cdef int ensure(self, Py_ssize_t more) except -1 nogil
    cdef int grow(self, Py_ssize_t more) except -1
    cdef int put(self, bytes piece) except -1

from paimon_fidx.core.cursor cimport Source

cdef class Container:
    cdef readonly Source source
    cdef readonly Py_ssize_t head_length
    cdef readonly dict columns     # {column: {kind: (start, length)}}; start -1 is an empty entry

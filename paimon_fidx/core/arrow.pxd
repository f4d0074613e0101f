from libc.stdint cimport int64_t

cdef extern from "arrow_abi.h" nogil:
    struct ArrowSchema:
        const char* format
        const char* name
        int64_t n_children
        ArrowSchema** children
        ArrowSchema* dictionary
        void (*release)(ArrowSchema*) noexcept nogil
    struct ArrowArray:
        int64_t length
        int64_t null_count
        int64_t offset
        int64_t n_buffers
        int64_t n_children
        const void** buffers
        ArrowArray** children
        ArrowArray* dictionary
        void (*release)(ArrowArray*) noexcept nogil
    struct ArrowArrayStream:
        int (*get_schema)(ArrowArrayStream*, ArrowSchema*) noexcept nogil
        int (*get_next)(ArrowArrayStream*, ArrowArray*) noexcept nogil
        const char* (*get_last_error)(ArrowArrayStream*) noexcept nogil
        void (*release)(ArrowArrayStream*) noexcept nogil

cdef class SchemaHandle:
    """One Arrow schema, released with the handle."""
    cdef ArrowSchema c

cdef class ArrayHandle:
    """One Arrow array (a batch, or one column moved out of it), released with the handle."""
    cdef ArrowArray c
    cdef Py_ssize_t first          # where the batch begins inside the column
    cdef Py_ssize_t row_count

cdef enum Source:              # what stands in the buffers of a leaf
    FROM_NULL, FROM_BOOL, FROM_I8, FROM_U8, FROM_I16, FROM_U16, FROM_I32, FROM_U32, FROM_I64, FROM_U64
    FROM_F32, FROM_F64, FROM_D128, FROM_D256, FROM_BYTES

cdef str text(const char* at)
cdef object sql_type(ArrowSchema* field)
cdef object source_of(str form, int kind, str logical, int scale)
cdef ArrowSchema* plain_schema(ArrowSchema* field) noexcept
cdef str describe(ArrowSchema* field)

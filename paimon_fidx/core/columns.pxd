from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t

from paimon_fidx.core.buffers cimport Arena

cdef enum Layout:
    SMALL_OFFSETS = 0
    LARGE_OFFSETS = 1
    VIEWS = 2
    FIXED_LEN = 3

cdef struct BytesChunk:
    # Strings of consecutive rows as they stand in one Arrow array.
    int layout
    const void* offsets            # int32 or int64 offsets, or 16-byte views
    const uint8_t* data            # the bytes the offsets point into
    const void** view_buffers      # what views with more than 12 bytes point into
    Py_ssize_t fixed_len
    Py_ssize_t row_count
    Py_ssize_t first               # slot of the first row, where there is no index
    const int32_t* index           # row -> slot, -1: NULL; NULL: row + first
    Py_ssize_t slot_count          # slots an index may name

cdef class KeyColumn:
    """What an index stores for one column: one key per row, 32 or 64 bits wide or bytes, with the NULL rows apart."""
    cdef readonly str label
    cdef readonly Py_ssize_t row_count
    cdef readonly Py_ssize_t null_count
    cdef int kind
    cdef const int32_t* narrow     # kinds up to 32 bits, floats in sortable form; 0 where NULL
    cdef const int64_t* wide       # kinds of 64 bits, doubles in sortable form; 0 where NULL
    cdef const uint64_t* valid     # bit set: not NULL; NULL: no row is
    cdef BytesChunk* chunks
    cdef Py_ssize_t chunk_count
    cdef Arena arena               # owns what was converted
    cdef list held                 # keeps what was not


cdef inline void bytes_at(const BytesChunk* chunk, Py_ssize_t slot, const uint8_t** at,
                          Py_ssize_t* size) noexcept nogil:
    """The bytes in one slot of a chunk."""
    cdef const int32_t* view
    if chunk.layout == SMALL_OFFSETS:
        at[0] = chunk.data + (<const int32_t*> chunk.offsets)[slot]
        size[0] = (<const int32_t*> chunk.offsets)[slot + 1] - (<const int32_t*> chunk.offsets)[slot]
    elif chunk.layout == LARGE_OFFSETS:
        at[0] = chunk.data + (<const int64_t*> chunk.offsets)[slot]
        size[0] = <Py_ssize_t> ((<const int64_t*> chunk.offsets)[slot + 1] - (<const int64_t*> chunk.offsets)[slot])
    elif chunk.layout == VIEWS:
        view = <const int32_t*> chunk.offsets + 4 * slot
        size[0] = view[0]
        if view[0] <= 12:
            at[0] = <const uint8_t*> (view + 1)
        else:
            at[0] = <const uint8_t*> chunk.view_buffers[view[2]] + view[3]
    else:
        at[0] = chunk.data + slot * chunk.fixed_len
        size[0] = chunk.fixed_len


cdef inline bint is_valid(const uint64_t* valid, Py_ssize_t row) noexcept nogil:
    """Whether a row is not NULL."""
    return valid == NULL or valid[row >> 6] >> (row & 63) & 1

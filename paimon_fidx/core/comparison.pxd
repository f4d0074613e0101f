from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t

from paimon_fidx.core.roaring cimport Bitmap, Container

cdef extern from "kernels.h" nogil:
    enum: FIDX_SCRATCH
    ctypedef struct fidx_work:
        uint64_t* e
        uint64_t* f
        uint64_t* acc
        uint64_t* exist
        uint64_t* total
        uint64_t* spare
        uint64_t* ones
        uint64_t (*scratch)[1024]

cdef enum:
    SLICES_MOST = 64
    NOTHING = 0                # no candidate is inside
    EVERYTHING = 1             # every candidate is
    WORDS = 2                  # those in the workspace's acc
    BAD = 3                    # a run leaves its chunk

cdef struct ChunkSlices:       # the slices of one chunk, each looked up when it is asked for: most chunks ask few
    const Container* items
    const Bitmap* slices
    int count
    uint16_t key
    uint32_t guess             # where the chunk's container stands in a bitmap that has one for every chunk

cdef const Container* find(const Container* items, const Bitmap* bitmap, uint16_t key) noexcept nogil

cdef inline const Container* slice_at(const ChunkSlices* s, int i) noexcept nogil:
    """Slice i's container, or NULL."""
    cdef const Bitmap* bitmap = &s.slices[i]
    if s.guess < bitmap.count and s.items[bitmap.first + s.guess].key == s.key:
        return &s.items[bitmap.first + s.guess]
    return find(s.items, bitmap, s.key)

cdef fidx_work* workspace() noexcept nogil
cdef int constant_bit(const Container* s, uint32_t least, uint32_t most) noexcept nogil
cdef void bounds(const Container* e, uint32_t* least, uint32_t* most) noexcept nogil
cdef bint contains(const Container* s, uint32_t row) noexcept nogil
cdef int compare(const ChunkSlices* s, uint32_t least, uint32_t most, const uint8_t* exist,
                 uint64_t lo, uint64_t hi, fidx_work* w) noexcept nogil
cdef int equal(const ChunkSlices* s, uint32_t least, uint32_t most, const uint8_t* exist,
               uint64_t code, fidx_work* w) noexcept nogil

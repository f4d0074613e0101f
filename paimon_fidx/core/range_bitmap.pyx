"""Range bitmap of one column: a sorted dictionary of its keys and a bit-sliced index of their codes.

    at   type    name             rule                                                        big-endian
    0    be32    header_len       9 + two keys (when cardinality > 0) + 4
    4    u8      version          1
    5    be32    row_count
    9    be32    cardinality      distinct keys
    13   key     min              only when cardinality > 0
         key     max
         be32    dictionary_len
    4 + header_len   dictionary   dictionary_len bytes
    then             slices       to the segment's end

    dictionary
    0    be32    header_len       13
    4    u8      version          1
    5    be32    chunk_count
    9    be32    offsets_len      4 * chunk_count
    13   be32    chunks_len
    17   be32[]  offsets          of the chunk headers, from the first one; ascending
         chunks  chunks
         keys    keys             of all chunks

    chunk (fixed-width keys)                        chunk (bytes keys)
    u8    version       1                           u8    version       1
    key   first                                     key   first         be32 length, bytes
    be32  code          of first                    be32  code
    be32  keys_off      from the keys area          be32  keys_off
    be32  size          further keys                be32  size
    be32  keys_len      size * key_len              be32  offsets_len   4 * size
    be32  key_len                                   be32  keys_len
    at keys_off: size keys                          at keys_off: be32 offsets (from the first key), then size keys

    slices
    0    be32    header_len       10 + 8 * slice_count
    4    u8      version          1
    5    u8      slice_count      enough bits for cardinality - 1, at least 1; Java writes 64 for cardinality 0
    6    be32    ebm_len
    10   be32    indexes_len      8 * slice_count
    14   pairs   indexes          slice_count x (be32 off, be32 len), from the first slice, one after the other
         roaring ebm, slices      little-endian

Codes are 0 to cardinality - 1 in key order: chunk i's first key has chunk i's code, its further keys the next ones.
"""
cimport cython
from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc

from paimon_fidx.core.buffers cimport Arena, Output
from paimon_fidx.core.codes cimport Codes, key_len, put_key
from paimon_fidx.core.cursor cimport Cursor, Source, View, be32, be32s, put_be32
from paimon_fidx.core.keys cimport (
    BYTES, Key, Keys, compare_keys, is_single, key_object, key_width, kind_code, read_fixed)
from paimon_fidx.core.planes cimport Planes, bit_length
from paimon_fidx.core.roaring cimport Fault, RowsWriter, parse, raise_fault
from paimon_fidx.core.ranking cimport code_counts, top
from paimon_fidx.core.slices cimport CodeRange, Slices, existence, select

cdef enum:
    VERSION = 1
    DICTIONARY_HEAD = 17
    SLICES_HEAD = 14
    SLICE_COUNT_MOST = 64
    CHUNK_FIXED = 21           # version, code, keys_off, size, two lengths


@cython.final
cdef class Reader:
    """Rows by value in any order-preserving question: equality, ranges, prefixes, patterns, TOP-N.

    Opening reads the header; a search reads the chunk headers, then the keys of one chunk; the slices are read in one
    range the first time rows are asked for.
    """

    def __cinit__(self, Source source not None, Py_ssize_t start, Py_ssize_t length, str key_kind,
                  where="range-bitmap"):
        cdef Cursor cursor = Cursor.__new__(Cursor)
        cdef int64_t header_len, version
        cdef Key key
        self.source = source
        self.where = where
        self.start = start
        self.length = length
        self.kind = kind_code(key_kind)
        cursor.source = source
        cursor.where = where
        cursor.view = source.read(start, min(length, 4), f"{where}.header_len")
        header_len = cursor.count32("header_len", length)
        if header_len > length - 4:
            raise source.truncated(f"{where}.header", start + 4, f"{header_len} bytes", f"{length - 4} left")
        cursor.view = source.read(start, 4 + header_len, f"{where}.header")
        version = cursor.u8("version")
        if version != VERSION:
            raise source.unsupported(f"{where}.version", start + 4, VERSION, version)
        self.row_count = cursor.count32("row_count", 0x7FFFFFFF)
        # Every key takes at least a byte somewhere in the dictionary.
        self.cardinality = cursor.count32("cardinality", min(length, self.row_count))
        if self.cardinality:
            for name in ("min", "max"):
                if self.kind == BYTES:
                    cursor.pos += cursor.count32(f"{name}.length", cursor.view.size - cursor.pos - 4)
                else:
                    cursor.need(key_width(self.kind), name)
                    cursor.pos += key_width(self.kind)
        self.dictionary_at = 4 + header_len
        self.dictionary_len = cursor.count32("dictionary_len", length - self.dictionary_at)
        if cursor.pos != 4 + header_len:
            raise source.corrupt(f"{where}.header_len", start, cursor.pos - 4, header_len)
        self.slices_at = self.dictionary_at + self.dictionary_len
        self.chunk_total = -1

    cdef int load_dictionary(self) except -1:
        """The dictionary's header, offsets and chunk headers."""
        cdef Cursor cursor
        cdef int64_t header_len, version, offsets_len
        cdef View view
        if self.chunk_total >= 0:
            return 0
        cursor = Cursor.__new__(Cursor)
        cursor.source = self.source
        cursor.where = where = f"{self.where}.dictionary"
        cursor.view = self.source.read(self.start + self.dictionary_at, min(self.dictionary_len, DICTIONARY_HEAD), where)
        header_len = cursor.i32("header_len")
        if header_len != DICTIONARY_HEAD - 4:
            raise self.source.corrupt(f"{where}.header_len", cursor.view.at, DICTIONARY_HEAD - 4, header_len)
        version = cursor.u8("version")
        if version != VERSION:
            raise self.source.unsupported(f"{where}.version", cursor.view.at + 4, VERSION, version)
        self.chunk_total = cursor.count32("chunk_count", min(self.cardinality, self.dictionary_len // 4))
        try:
            offsets_len = cursor.count32("offsets_len", self.dictionary_len - DICTIONARY_HEAD)
            if offsets_len != 4 * self.chunk_total:
                raise self.source.corrupt(f"{where}.offsets_len", cursor.view.at + 9, 4 * self.chunk_total, offsets_len)
            self.chunks_len = cursor.count32("chunks_len", self.dictionary_len - DICTIONARY_HEAD - offsets_len)
            if (self.cardinality > 0) != (self.chunk_total > 0):
                raise self.source.corrupt(f"{where}.chunk_count", cursor.view.at + 5,
                                          f"chunks for {self.cardinality} keys", self.chunk_total)
            self.offsets_at = self.dictionary_at + DICTIONARY_HEAD
            self.chunks_at = self.offsets_at + offsets_len
            view = self.source.read(self.start + self.offsets_at, offsets_len + self.chunks_len, f"{where}.chunks")
        except BaseException:
            self.chunk_total = -1
            raise
        self.offsets = view
        return 0

    cdef int chunk(self, int64_t i, Chunk* out) except -1:
        """The header of chunk ``i``, checked."""
        cdef const uint8_t* base = self.offsets.data
        cdef int64_t offsets_len = 4 * self.chunk_total, at = be32s(base + 4 * i), stop, width, pos, at_end
        cdef int64_t area = self.chunks_at + self.chunks_len, key_len
        cdef const uint8_t* p
        stop = be32s(base + 4 * i + 4) if i + 1 < self.chunk_total else self.chunks_len
        if at < 0 or stop > self.chunks_len or stop < at or stop - at < CHUNK_FIXED:
            raise self.source.corrupt(f"{self.where}.dictionary.offset[{i}]", self.start + self.offsets_at + 4 * i,
                                      f"ascending offsets up to {self.chunks_len}", (at, stop))
        p = base + offsets_len + at
        at_end = stop - at
        if p[0] != VERSION:
            raise self.source.unsupported(f"{self.where}.chunk[{i}].version", self.start + self.chunks_at + at, VERSION, p[0])
        pos = 1
        if self.kind == BYTES:
            if at_end < CHUNK_FIXED + 4:
                raise self.source.corrupt(f"{self.where}.chunk[{i}]", self.start + self.chunks_at + at,
                                          f"at least {CHUNK_FIXED + 4} bytes", at_end)
            width = be32s(p + 1)
            if width < 0 or width > at_end - CHUNK_FIXED - 4:
                raise self.source.corrupt(f"{self.where}.chunk[{i}].first.length", self.start + self.chunks_at + at + 1,
                                          f"0 to {at_end - CHUNK_FIXED - 4}", width)
            out.key.data = p + 5
            out.key.size = width
            pos = 5 + width
        else:
            width = key_width(self.kind)
            if at_end < CHUNK_FIXED + width:
                raise self.source.corrupt(f"{self.where}.chunk[{i}]", self.start + self.chunks_at + at,
                                          f"{CHUNK_FIXED + width} bytes", at_end)
            out.key.value = read_fixed(self.kind, p + 1)
            pos = 1 + width
        if pos + CHUNK_FIXED - 1 != at_end:
            raise self.source.corrupt(f"{self.where}.chunk[{i}]", self.start + self.chunks_at + at,
                                      f"{pos + CHUNK_FIXED - 1} bytes", at_end)
        out.code = be32s(p + pos)
        out.keys_at = be32s(p + pos + 4)
        out.size = be32s(p + pos + 8)
        if self.kind == BYTES:
            out.offsets_len = be32s(p + pos + 12)
            out.keys_len = be32s(p + pos + 16)
        else:
            out.offsets_len = 0
            out.keys_len = be32s(p + pos + 12)
            key_len = be32s(p + pos + 16)
            if key_len != width:
                raise self.source.corrupt(f"{self.where}.chunk[{i}].key_len", self.start + self.chunks_at + at + pos + 16,
                                          width, key_len)
        if (out.code < 0 or out.size < 0 or out.code >= self.cardinality or out.size >= self.cardinality - out.code
                or (i == 0 and out.code != 0)):
            raise self.source.corrupt(f"{self.where}.chunk[{i}].code", self.start + self.chunks_at + at + pos,
                                      f"codes below {self.cardinality}", (out.code, out.size))
        if (out.keys_at < 0 or out.keys_len < 0 or out.offsets_len < 0
                or (self.kind == BYTES and out.offsets_len != 4 * out.size)
                or (self.kind != BYTES and out.keys_len != out.size * width)
                or out.keys_at > self.slices_at - area
                or out.offsets_len + out.keys_len > self.slices_at - area - out.keys_at):
            raise self.source.corrupt(
                f"{self.where}.chunk[{i}].keys", self.start + self.chunks_at + at + pos + 4,
                f"{out.size} keys inside the dictionary's {self.slices_at - area} bytes",
                (out.keys_at, out.offsets_len, out.keys_len))
        out.keys_at += area
        return 0

    cdef View chunk_keys(self, const Chunk* chunk):
        return self.source.read(self.start + chunk.keys_at, chunk.offsets_len + chunk.keys_len, f"{self.where}.keys")

    cdef int key_in(self, const Chunk* chunk, View keys, int64_t j, Key* out) except -1:
        """Further key ``j`` of a chunk."""
        cdef int64_t at, size
        if self.kind != BYTES:
            out.value = read_fixed(self.kind, keys.data + j * key_width(self.kind))
            return 0
        at = be32s(keys.data + 4 * j)
        if at < 0 or at > chunk.keys_len - 4:
            raise self.source.corrupt(f"{self.where}.keys.offset[{j}]", keys.at + 4 * j, f"0 to {chunk.keys_len - 4}", at)
        size = be32s(keys.data + chunk.offsets_len + at)
        if size < 0 or size > chunk.keys_len - 4 - at:
            raise self.source.corrupt(f"{self.where}.keys[{j}].length", keys.at + chunk.offsets_len + at,
                                      f"0 to {chunk.keys_len - 4 - at}", size)
        out.data = keys.data + chunk.offsets_len + at + 4
        out.size = size
        return 0

    cdef int64_t lower_bound(self, const Key* key, bint* hit) except -1:
        """The code of the first key that is not below ``key``; ``hit``: it is equal. Chunk headers, then one chunk."""
        cdef int64_t lo = 0, hi, middle
        cdef Chunk chunk
        cdef Key found
        cdef View keys
        cdef int order
        self.load_dictionary()
        hit[0] = False
        hi = self.chunk_total - 1
        while lo <= hi:
            middle = (lo + hi) >> 1
            self.chunk(middle, &chunk)
            order = compare_keys(self.kind, &chunk.key, key)
            if order == 0:
                hit[0] = True
                return chunk.code
            if order > 0:
                hi = middle - 1
            else:
                lo = middle + 1
        if lo == 0:
            return 0
        self.chunk(lo - 1, &chunk)
        keys = self.chunk_keys(&chunk)
        lo = 0
        hi = chunk.size - 1
        while lo <= hi:
            middle = (lo + hi) >> 1
            self.key_in(&chunk, keys, middle, &found)
            order = compare_keys(self.kind, &found, key)
            if order == 0:
                hit[0] = True
                return chunk.code + 1 + middle
            if order > 0:
                hi = middle - 1
            else:
                lo = middle + 1
        return chunk.code + 1 + lo

    cdef int64_t slices_head(self, int64_t* ebm_len) except -1:
        """The header of the bit-sliced index: returns slice_count."""
        cdef Cursor cursor = Cursor.__new__(Cursor)
        cdef int64_t header_len, version, slice_count, indexes_len, left = self.length - self.slices_at
        cdef View view
        cursor.source = self.source
        cursor.where = where = f"{self.where}.slices"
        cursor.view = view = self.source.read(self.start + self.slices_at, min(left, SLICES_HEAD), where)
        header_len = cursor.i32("header_len")
        version = cursor.u8("version")
        if version != VERSION:
            raise self.source.unsupported(f"{where}.version", view.at + 4, VERSION, version)
        slice_count = cursor.u8("slice_count")
        if not 1 <= slice_count <= SLICE_COUNT_MOST:
            raise self.source.corrupt(f"{where}.slice_count", view.at + 5, f"1 to {SLICE_COUNT_MOST}", slice_count)
        if header_len != SLICES_HEAD - 4 + 8 * slice_count:
            raise self.source.corrupt(f"{where}.header_len", view.at, SLICES_HEAD - 4 + 8 * slice_count, header_len)
        ebm_len[0] = cursor.count32("ebm_len", left)
        indexes_len = cursor.i32("indexes_len")
        if indexes_len != 8 * slice_count:
            raise self.source.corrupt(f"{where}.indexes_len", view.at + 10, 8 * slice_count, indexes_len)
        if ebm_len[0] > left - SLICES_HEAD - indexes_len:
            raise self.source.truncated(f"{where}.ebm", view.at + SLICES_HEAD + indexes_len, f"{ebm_len[0]} bytes",
                                        f"{left - SLICES_HEAD - indexes_len} left")
        return slice_count

    cdef Slices load_ebm(self):
        """The existence bitmap alone, as an index without slices: what NULL tests read."""
        cdef int64_t ebm_len, at
        if self.slices is not None:
            return self.slices
        if self.existence is None:
            at = self.slices_at + SLICES_HEAD + 8 * self.slices_head(&ebm_len)
            self.existence = self.parse_ebm(self.source.read(self.start + at, ebm_len, f"{self.where}.slices.ebm"))
        return self.existence

    cdef Slices parse_ebm(self, View view):
        cdef Slices slices = Slices.__new__(Slices)
        cdef Fault fault
        cdef Py_ssize_t used
        slices.row_count = self.row_count
        slices.owner = view.owner
        slices.source = self.source
        slices.where = f"{self.where}.slices"
        slices.at = self.start + self.slices_at
        used = parse(view.data, view.size, self.row_count, slices.pool, &slices.ebm, &fault)
        if used < 0:
            raise_fault(self.source, f"{self.where}.slices.ebm", view.at, &fault)
        if used != view.size:
            raise self.source.corrupt(f"{self.where}.slices.ebm_len", slices.at + 6, used, view.size)
        return slices

    cdef Slices load_slices(self):
        """The bit-sliced index of the codes: one range read, all headers parsed."""
        cdef Slices slices
        cdef Fault fault
        cdef int64_t slice_count, ebm_len, offset, length, i, expected = 0, at
        cdef Py_ssize_t used
        cdef View view
        if self.slices is not None:
            return self.slices
        where = f"{self.where}.slices"
        view = self.source.read(self.start + self.slices_at, self.length - self.slices_at, where)
        slice_count = self.slices_head(&ebm_len)
        at = SLICES_HEAD + 8 * slice_count
        slices = self.parse_ebm(self.source.read(view.at + at, ebm_len, where))
        slices.slice_count = <int> slice_count
        at += ebm_len
        for i in range(slice_count):
            offset = be32s(view.data + SLICES_HEAD + 8 * i)
            length = be32s(view.data + SLICES_HEAD + 8 * i + 4)
            if offset != expected:
                raise self.source.corrupt(f"{where}.index[{i}].off", view.at + SLICES_HEAD + 8 * i, expected, offset)
            if length < 0 or length > view.size - at - offset:
                raise self.source.corrupt(f"{where}.index[{i}].len", view.at + SLICES_HEAD + 8 * i + 4,
                                          f"0 to {view.size - at - offset}", length)
            used = parse(view.data + at + offset, length, self.row_count, slices.pool, &slices.slices[i], &fault)
            if used < 0:
                raise_fault(self.source, f"{where}.slice[{i}]", view.at + at + offset, &fault)
            if used != length:
                raise self.source.corrupt(f"{where}.index[{i}].len", view.at + SLICES_HEAD + 8 * i + 4, used, length)
            expected = offset + length
        if at + expected != view.size:
            raise self.source.corrupt(f"{where}.end", view.at + at + expected, "nothing more",
                                      f"{view.size - at - expected} bytes")
        if <uint64_t> max(self.cardinality - 1, <int64_t> 0) > slices.max_code():
            raise self.source.corrupt(f"{where}.slice_count", view.at + 5, f"enough bits for {self.cardinality} codes",
                                      slice_count)
        self.slices = slices
        return slices

    cdef View next_chunk(self, int64_t i, Chunk* chunk, const Chunk* previous):
        """Chunk ``i`` and its further keys (None without any) in a walk: it must go on where ``previous`` (NULL at the
        start) ended, so that a walk never meets more codes or key bytes than the dictionary holds."""
        cdef int64_t code, keys_at, at = 0, j, size
        cdef View keys
        self.chunk(i, chunk)
        if previous != NULL:
            code = previous.code + 1 + previous.size
            keys_at = previous.keys_at + previous.offsets_len + previous.keys_len
            if chunk.code != code or chunk.keys_at != keys_at:
                raise self.source.corrupt(f"{self.where}.chunk[{i}]", self.start + self.chunks_at,
                                          f"code {code}, keys at {keys_at}", (chunk.code, chunk.keys_at))
        if chunk.size == 0:
            return None
        keys = self.chunk_keys(chunk)
        if self.kind == BYTES:
            for j in range(chunk.size):
                size = be32s(keys.data + chunk.offsets_len + at) if at <= chunk.keys_len - 4 else -1
                if be32s(keys.data + 4 * j) != at or size < 0 or size > chunk.keys_len - 4 - at:
                    raise self.source.corrupt(f"{self.where}.chunk[{i}].keys.offset[{j}]", keys.at + 4 * j,
                                              f"{at}, where the key before ends", be32s(keys.data + 4 * j))
                at += 4 + size
        return keys

    def select(self, Keys keys not None, bint negate=False):
        """Rows whose value lies in ``keys``, or with ``negate`` the rows that have a value outside; a BitMap."""
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        cdef CodeRange* ranges
        cdef Py_ssize_t count = 0, i
        cdef list codes
        cdef bint hit
        cdef int64_t lo, hi
        if keys.has_like:
            codes = self._like_codes(keys)
            ranges = <CodeRange*> malloc((len(codes) + 1) * sizeof(CodeRange))
            if ranges == NULL:
                raise MemoryError()
            for lo in codes:
                if count and ranges[count - 1].hi + 1 == <uint64_t> lo:
                    ranges[count - 1].hi = lo
                else:
                    ranges[count].lo = ranges[count].hi = lo
                    count += 1
        else:
            ranges = <CodeRange*> malloc((keys.count + 1) * sizeof(CodeRange))
            if ranges == NULL:
                raise MemoryError()
        try:
            if self.cardinality and not keys.has_like:
                for i in range(keys.count):
                    lo = self.lower_bound(&keys.lo[i], &hit)
                    if lo >= self.cardinality:
                        continue
                    if is_single(self.kind, &keys.lo[i], &keys.hi[i], keys.unbounded and i == keys.count - 1):
                        if not hit:
                            continue
                        hi = lo
                    elif self.kind == BYTES and keys.unbounded and i == keys.count - 1:
                        hi = self.cardinality - 1
                    else:
                        hi = self.lower_bound(&keys.hi[i], &hit)
                        if self.kind == BYTES or not hit:
                            hi -= 1
                    if lo > hi:
                        continue
                    if count and <uint64_t> lo <= ranges[count - 1].hi + 1:
                        ranges[count - 1].hi = max(ranges[count - 1].hi, <uint64_t> hi)
                    else:
                        ranges[count].lo = lo
                        ranges[count].hi = hi
                        count += 1
            # Up to the last code: no upper bound, so that such a range needs no upper comparison.
            if count and ranges[count - 1].hi == <uint64_t> (self.cardinality - 1):
                ranges[count - 1].hi = ~<uint64_t> 0
            if self.cardinality and (count or negate):
                select(self.load_slices(), ranges, count, None, NULL, 0, negate, out)
        finally:
            free(ranges)
        return out.finish()

    def _like_codes(self, Keys keys):
        """Codes of the keys inside the ranges that match the pattern, ascending."""
        cdef int64_t i, j, r = 0, first
        cdef Chunk chunk, previous
        cdef Key key
        cdef View further
        codes = []
        if not self.cardinality or not keys.count:
            return codes
        self.load_dictionary()
        first = self._chunk_before(&keys.lo[0])
        for i in range(first, self.chunk_total):
            further = self.next_chunk(i, &chunk, &previous if i > first else NULL)
            previous = chunk
            for j in range(-1, chunk.size):
                if j < 0:
                    key = chunk.key
                else:
                    self.key_in(&chunk, further, j, &key)
                while r < keys.count and keys.above(r, &key):
                    r += 1
                if r == keys.count:
                    return codes
                if compare_keys(self.kind, &key, &keys.lo[r]) >= 0 and keys.match(key.data, key.size):
                    codes.append(chunk.code + 1 + j)
        return codes

    cdef int64_t _chunk_before(self, const Key* key) except -1:
        """The chunk in which ``key`` would stand."""
        cdef int64_t lo = 0, hi = self.chunk_total - 1, middle
        cdef Chunk chunk
        while lo <= hi:
            middle = (lo + hi) >> 1
            self.chunk(middle, &chunk)
            if compare_keys(self.kind, &chunk.key, key) > 0:
                hi = middle - 1
            else:
                lo = middle + 1
        return max(lo - 1, <int64_t> 0)

    def value_rows(self, bint absent=False):
        """Rows that have a value, or with ``absent`` the NULL rows; a BitMap."""
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        existence(self.load_ebm() if self.cardinality else Slices.__new__(Slices), None, absent, out)
        return out.finish()

    def top(self, uint64_t k, bint largest, selection=None, bint ties=False):
        """The k rows with the largest (or smallest) values; a BitMap. ``selection``: a BitMap to choose from."""
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        cdef uint64_t found
        if self.cardinality:
            top(self.load_slices(), k, largest, selection, ties, out, &found)
        return out.finish()

    def keys(self):
        """All keys in order: sortable ints or bytes."""
        cdef int64_t i, j
        cdef Chunk chunk, previous
        cdef Key key
        cdef View further
        out = []
        if not self.cardinality:
            return out
        self.load_dictionary()
        for i in range(self.chunk_total):
            further = self.next_chunk(i, &chunk, &previous if i else NULL)
            previous = chunk
            out.append(key_object(self.kind, &chunk.key))
            for j in range(chunk.size):
                self.key_in(&chunk, further, j, &key)
                out.append(key_object(self.kind, &key))
        if len(out) != self.cardinality:
            raise self.source.corrupt(f"{self.where}.cardinality", self.start + 9, f"{len(out)}, the dictionary's keys",
                                      self.cardinality)
        return out

    def counts(self, selection=None):
        """{key: number of rows}; keys as sortable ints or bytes."""
        keys = self.keys()
        if not keys:
            return {}
        counts = code_counts(self.load_slices(), selection)
        for code in counts:
            if code >= len(keys):
                raise self.source.corrupt(f"{self.where}.slices", self.start + self.slices_at,
                                          f"codes below {len(keys)}", code)
        return {keys[code]: counts[code] for code in sorted(counts)}


@cython.final
cdef class Writer:
    """Writes dictionary and slices; ``chunk_size`` bounds the bytes of the keys behind a chunk's first one."""
    cdef readonly Py_ssize_t chunk_size

    def __init__(self, Py_ssize_t chunk_size=16384):
        self.chunk_size = chunk_size

    def write(self, Codes codes not None, Output out not None):
        """Appends the index."""
        cdef Py_ssize_t n = codes.column.row_count, dictionary_at, head_len, count, slices_len, i
        cdef int kind = codes.column.kind, width = key_width(kind)
        cdef uint8_t* at
        cdef Planes planes
        codes.need_codes()
        count = codes.distinct_count
        planes = self.slice_codes(codes)
        slices_len = SLICES_HEAD
        with nogil:
            for i in range(planes.plane_count):
                slices_len += 8 + planes.measure(i, NULL)
        head_len = 13
        if count:
            head_len += key_len(codes, width, 0) + key_len(codes, width, count - 1)
        # Room for slices and fixed-width keys at once: growing later would hold two copies for a moment.
        out.ensure(4 + head_len + DICTIONARY_HEAD + width * count + slices_len)
        at = out.base + out.used
        put_be32(at, <uint32_t> head_len)
        at[4] = VERSION
        put_be32(at + 5, <uint32_t> n)
        put_be32(at + 9, <uint32_t> count)
        at += 13
        if count:
            at = put_key(codes, kind, 0, at)
            at = put_key(codes, kind, count - 1, at)
        out.used += 4 + head_len
        dictionary_at = out.used
        if width:
            self.write_fixed(codes, kind, width, slices_len, out)
        else:
            self.write_variable(codes, kind, slices_len, out)
        put_be32(out.base + dictionary_at - 4, <uint32_t> (out.used - dictionary_at))
        self.write_slices(planes, out)

    cdef Planes slice_codes(self, Codes codes):
        """The bit slices of the codes, then the existence bitmap; without any key Java still has 64 slices."""
        cdef int slices = max(bit_length(<uint64_t> max(codes.distinct_count - 1, 0)), 1)
        cdef Planes planes
        if codes.distinct_count == 0:
            slices = SLICE_COUNT_MOST
        planes = Planes(codes.column.row_count, slices + 1)
        with nogil:
            if codes.distinct_count:
                planes.slice_narrow(<const int32_t*> codes.codes, slices, NULL)
            else:
                planes.clear()
            planes.set_rows(slices, codes.column.valid)
        return planes

    cdef int write_fixed(self, Codes codes, int kind, int width, Py_ssize_t behind, Output out) except -1:
        """Chunks of keys of one width: all but the last hold as many keys. ``behind``: bytes that will follow."""
        cdef Py_ssize_t count = codes.distinct_count, per = 1 + self.chunk_size // width
        cdef Py_ssize_t chunk_count = (count + per - 1) // per, chunk, first, i, end, keys_len = 0
        cdef Py_ssize_t chunk_len = width + CHUNK_FIXED
        cdef uint8_t* base
        cdef uint8_t* chunks
        cdef uint8_t* keys
        cdef uint8_t* at
        cdef Py_ssize_t length = DICTIONARY_HEAD + (4 + chunk_len) * chunk_count + width * (count - chunk_count)
        out.ensure(length + behind)
        with nogil:
            base = out.base + out.used
            put_dictionary_head(base, chunk_count, chunk_len * chunk_count)
            base += DICTIONARY_HEAD
            chunks = base + 4 * chunk_count
            keys = chunks + chunk_len * chunk_count
            for chunk in range(chunk_count):
                first = chunk * per
                end = min(first + per, count)
                put_be32(base + 4 * chunk, <uint32_t> (chunk * chunk_len))
                at = chunks + chunk * chunk_len
                at[0] = VERSION
                at = put_key(codes, kind, first, at + 1)
                put_be32(at, <uint32_t> first)
                put_be32(at + 4, <uint32_t> keys_len)
                put_be32(at + 8, <uint32_t> (end - first - 1))
                put_be32(at + 12, <uint32_t> (width * (end - first - 1)))
                put_be32(at + 16, <uint32_t> width)
                for i in range(first + 1, end):
                    keys = put_key(codes, kind, i, keys)
                keys_len += width * (end - first - 1)
        out.used += length
        return 0

    cdef int write_variable(self, Codes codes, int kind, Py_ssize_t behind, Output out) except -1:
        """Chunks end where the next key, or its be32 offset, no longer fits into chunk_size bytes."""
        cdef Py_ssize_t count = codes.distinct_count, chunk_count = 0, i = 0, size, used, chunks_len = 0, keys_len = 0
        cdef Py_ssize_t length, chunk, first, end, keys_off = 0, key_off, behind_first
        cdef uint8_t* base
        cdef uint8_t* at
        cdef uint8_t* chunks
        cdef uint8_t* offsets
        cdef uint8_t* keys
        cdef Arena arena = Arena()
        cdef uint32_t* chunk_first = <uint32_t*> arena.take(4 * (count + 1))
        with nogil:
            while i < count:
                chunk_first[chunk_count] = <uint32_t> i
                chunk_count += 1
                chunks_len += key_len(codes, 0, i) + CHUNK_FIXED
                i += 1
                used = 0
                while i < count:
                    size = key_len(codes, 0, i)
                    behind_first = i - chunk_first[chunk_count - 1] - 1
                    if size > self.chunk_size - used or 4 > self.chunk_size - 4 * behind_first:
                        break
                    used += size
                    i += 1
                keys_len += used + 4 * (i - chunk_first[chunk_count - 1] - 1)
            chunk_first[chunk_count] = <uint32_t> count
        length = DICTIONARY_HEAD + 4 * chunk_count + chunks_len + keys_len
        out.ensure(length + behind)
        with nogil:
            base = out.base + out.used
            put_dictionary_head(base, chunk_count, chunks_len)
            base += DICTIONARY_HEAD
            at = chunks = base + 4 * chunk_count
            offsets = chunks + chunks_len
            for chunk in range(chunk_count):
                first, end = chunk_first[chunk], chunk_first[chunk + 1]
                put_be32(base + 4 * chunk, <uint32_t> (at - chunks))
                keys = offsets + 4 * (end - first - 1)
                key_off = 0
                for i in range(first + 1, end):
                    put_be32(offsets + 4 * (i - first - 1), <uint32_t> key_off)
                    keys = put_key(codes, kind, i, keys)
                    key_off += key_len(codes, 0, i)
                at[0] = VERSION
                at = put_key(codes, kind, first, at + 1)
                put_be32(at, <uint32_t> first)
                put_be32(at + 4, <uint32_t> keys_off)
                put_be32(at + 8, <uint32_t> (end - first - 1))
                put_be32(at + 12, <uint32_t> (4 * (end - first - 1)))
                put_be32(at + 16, <uint32_t> key_off)
                at += CHUNK_FIXED - 1
                keys_off += 4 * (end - first - 1) + key_off
                offsets = keys
        out.used += length
        return 0

    cdef int write_slices(self, Planes planes, Output out) except -1:
        cdef Py_ssize_t slices = planes.plane_count - 1, head_at = out.used, start, i
        cdef uint8_t* head
        with nogil:
            out.ensure(SLICES_HEAD + 8 * slices)
            head = out.base + head_at
            put_be32(head, <uint32_t> (SLICES_HEAD - 4 + 8 * slices))
            head[4] = VERSION
            head[5] = <uint8_t> slices
            put_be32(head + 10, <uint32_t> (8 * slices))
            out.used += SLICES_HEAD + 8 * slices
            start = out.used
            planes.write(slices, NULL, out)
            put_be32(out.base + head_at + 6, <uint32_t> (out.used - start))
            start = out.used
            for i in range(slices):
                put_be32(out.base + head_at + SLICES_HEAD + 8 * i, <uint32_t> (out.used - start))
                put_be32(out.base + head_at + SLICES_HEAD + 8 * i + 4, <uint32_t> planes.length(i))
                planes.write(i, NULL, out)
        return 0


cdef void put_dictionary_head(uint8_t* at, Py_ssize_t chunk_count, Py_ssize_t chunks_len) noexcept nogil:
    put_be32(at, DICTIONARY_HEAD - 4)
    at[4] = VERSION
    put_be32(at + 5, <uint32_t> chunk_count)
    put_be32(at + 9, <uint32_t> (4 * chunk_count))
    put_be32(at + 13, <uint32_t> chunks_len)

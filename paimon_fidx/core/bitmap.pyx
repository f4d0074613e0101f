"""Bitmap index of one column: for each distinct key the bitmap of its rows.

Version 1                                                                                     big-endian
    at   type    name          rule
    0    u8      version       1
    1    be32    row_count     rows of the data file, NULL ones included
    5    be32    entry_count   distinct keys
    9    u8      has_null      0 or 1
    10   be32    null_off      only if has_null
         entries entries       entry_count x (key | be32 off), in any order
         roaring bitmaps       to the segment's end; off counts from here

Version 2: entries sorted by key, in blocks, with a secondary index over the blocks
    0    u8      version       2
    1    be32    row_count
    5    be32    entry_count
    9    u8      has_null      0 or 1
    10   be32    null_off      only if has_null
    14   be32    null_len      only if has_null
         be32    block_count
         heads   block_heads   block_count x (key | be32 off): a block's first key and its offset from the first block
         be32    blocks_len    bytes of all blocks
         blocks  blocks        the first block starts here
         roaring bitmaps       blocks_len after the first block; off counts from here

    index block
    0    be32    entry_count   at least 1
    4    entry   entries       key | be32 off | be32 len; keys strictly ascending, the first is the head's key

    key                        fixed width, or be32 length and bytes (see keys)
    off < 0                    the single row -1 - off; no bitmap is stored, len is then ignored
    off >= 0                   a Roaring bitmap, little-endian; len its bytes (-1 where the writer did not know)

NULL rows are in the null bitmap and in no entry. Bitmaps of different keys are disjoint.
"""
cimport cython
from libc.stdint cimport int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport calloc, free, malloc, qsort, realloc
from libc.string cimport memcpy, memset

from paimon_fidx.core.buffers cimport Output
from paimon_fidx.core.codes cimport Codes, key_len, next_head, put_key
from paimon_fidx.core.cursor cimport Cursor, Source, View, be32s, put_be32
from paimon_fidx.core.keys cimport (
    BYTES, INT32, INT64, Key, Keys, compare_keys, is_single, key_object, key_width, kind_code, read_fixed)
from paimon_fidx.core.planes cimport Planes, most_list_bytes, put_row_list
from paimon_fidx.core.roaring cimport (
    ARRAY, CHUNK_BYTES, CHUNK_ROWS, Bitmap, Container, Fault, Pool, RowsWriter, chunk_count, fidx_fill_range, fidx_set_values, fill,
    kernels, parse, raise_fault)

from pyroaring import BitMap

cdef enum:
    VERSION_1 = 1
    VERSION_2 = 2
    NO_LEN = -1                # of a single row, kept in the entry itself
    FEW_HOLES = 1000           # so few rows taken out of a chunk leave runs that are smaller than a bitset

# Bitmaps of one answer that lie closer than this are fetched in one range: a request costs more than the bytes between.
cdef int64_t GAP = 8192


@cython.final
cdef class Entries:
    def __dealloc__(self):
        free(self.items)

    cdef int add(self, const Entry* entry) except -1:
        cdef Entry* grown
        if self.count == self.capacity:
            self.capacity = max(16, 2 * self.capacity)
            grown = <Entry*> realloc(self.items, self.capacity * sizeof(Entry))
            if grown == NULL:
                raise MemoryError()
            self.items = grown
        self.items[self.count] = entry[0]
        self.count += 1
        return 0

    cdef Py_ssize_t singles_first(self) noexcept nogil:
        """Moves the entries of single rows to the front and sorts the others by offset; returns how many are single."""
        cdef Py_ssize_t i, singles = 0
        cdef Entry moved
        cdef bint ascending = True
        for i in range(self.count):
            if self.items[i].off < 0:
                if i > singles:
                    moved = self.items[i]
                    self.items[i] = self.items[singles]
                    self.items[singles] = moved
                singles += 1
        for i in range(singles + 1, self.count):
            ascending &= self.items[i - 1].off <= self.items[i].off
        if not ascending:
            qsort(self.items + singles, self.count - singles, sizeof(Entry), _entry_order)
        return singles

    cdef int64_t next_off(self, int64_t off, int64_t end) noexcept nogil:
        """The smallest offset above ``off`` in entries sorted by offset; ``end`` when there is none."""
        cdef Py_ssize_t lo = 0, hi = self.count, middle
        while lo < hi:
            middle = (lo + hi) >> 1
            if self.items[middle].off <= off:
                lo = middle + 1
            else:
                hi = middle
        return self.items[lo].off if lo < self.count else end


cdef int _entry_order(const void* a, const void* b) noexcept nogil:
    cdef const Entry* x = <const Entry*> a
    cdef const Entry* y = <const Entry*> b
    return (x.off > y.off) - (x.off < y.off)


cdef int _fixed_order(const void* a, const void* b) noexcept nogil:
    cdef const V1Entry* x = <const V1Entry*> a
    cdef const V1Entry* y = <const V1Entry*> b
    return (x.key.value > y.key.value) - (x.key.value < y.key.value)


cdef int _bytes_order(const void* a, const void* b) noexcept nogil:
    return compare_keys(BYTES, &(<const V1Entry*> a).key, &(<const V1Entry*> b).key)


cdef struct Piece:             # one container, or one row, of an answer
    uint32_t key
    uint32_t row               # single row; containers: unused
    const Container* container


cdef int _piece_order(const void* a, const void* b) noexcept nogil:
    cdef const Piece* x = <const Piece*> a
    cdef const Piece* y = <const Piece*> b
    return (x.key > y.key) - (x.key < y.key)


cdef int _by_chunk(const Piece* pieces, Py_ssize_t n, uint32_t chunks, Piece* out) noexcept nogil:
    """Copies the pieces in the order of their chunks; within a chunk any order will do. -1: no memory."""
    cdef Py_ssize_t* starts
    cdef Py_ssize_t i, at = 0, count
    cdef uint32_t key
    if n < chunks:             # few rows in a large file: a table of all chunks would be larger than the answer
        memcpy(out, pieces, n * sizeof(Piece))
        if n > 1:
            qsort(out, n, sizeof(Piece), _piece_order)
        return 0
    starts = <Py_ssize_t*> calloc(chunks + 1, sizeof(Py_ssize_t))
    if starts == NULL:
        return -1
    for i in range(n):         # in bounds: parse() and write() checked the rows against row_count
        starts[pieces[i].key] += 1
    for key in range(chunks):
        count = starts[key]
        starts[key] = at
        at += count
    for i in range(n):
        key = pieces[i].key
        out[starts[key]] = pieces[i]
        starts[key] += 1
    free(starts)
    return 0


@cython.final
cdef class Reader:
    """Rows by key, and the keys themselves in order.

    Opening reads the head: for version 2 the secondary index, for version 1 all entries (they are not sorted).
    A look-up then reads one block and the bitmaps asked for.
    """

    def __cinit__(self, Source source not None, Py_ssize_t start, Py_ssize_t length, str key_kind, where="bitmap"):
        cdef Cursor cursor = Cursor.__new__(Cursor)
        self.source = source
        self.where = where
        self.start = start
        self.length = length
        self.kind = kind_code(key_kind)
        self.held = []
        cursor.source = source
        cursor.where = where
        cursor.view = source.read(start, min(length, 18), where)
        self.version = <int> cursor.u8("version")
        if self.version != VERSION_1 and self.version != VERSION_2:
            raise source.unsupported(f"{where}.version", start, f"{VERSION_1} or {VERSION_2}", self.version)
        self.row_count = cursor.count32("row_count", 0x7FFFFFFF)
        self.entry_count = cursor.count32("entry_count", min(length, self.row_count))
        has_null = cursor.u8("has_null")
        if has_null > 1:
            raise source.corrupt(f"{where}.has_null", start + 9, "0 or 1", has_null)
        self.has_null = has_null == 1
        self.null_entry.len = -1
        if self.has_null:
            self.null_entry.off = cursor.i32("null_off")
            if self.version == VERSION_2:
                self.null_entry.len = cursor.i32("null_len")
        if self.version == VERSION_1:
            self._open_v1(cursor)
        else:
            self._open_v2(cursor)

    def __dealloc__(self):
        free(self.blocks)
        free(self.sorted_entries)

    cdef int key(self, Cursor cursor, Key* out, object name) except -1:
        if self.kind == BYTES:
            out.size = cursor.count32(name, cursor.view.size - cursor.pos - 4)
            out.data = cursor.view.data + cursor.pos
            cursor.pos += out.size
        else:
            cursor.need(key_width(self.kind), name)
            out.value = read_fixed(self.kind, cursor.view.data + cursor.pos)
            cursor.pos += key_width(self.kind)
        return 0

    cdef int _open_v1(self, Cursor cursor) except -1:
        """All entries, sorted by key; each bitmap ends where the next one starts."""
        cdef int64_t i
        cdef Entries by_off = Entries.__new__(Entries)
        cdef V1Entry* e
        if self.entry_count > (self.length - cursor.pos) // (4 + (4 if self.kind == BYTES else key_width(self.kind))):
            raise self.source.corrupt(f"{self.where}.entry_count", self.start + 5, "entries inside the segment",
                                      self.entry_count)
        # The entries' length is not stored: take the segment, it holds little but entries and bitmaps.
        cursor.view = self.source.read(self.start, self.length, self.where)
        self.held.append(cursor.view)
        self.sorted_entries = <V1Entry*> calloc(self.entry_count + 1, sizeof(V1Entry))
        if self.sorted_entries == NULL:
            raise MemoryError()
        for i in range(self.entry_count):
            e = &self.sorted_entries[i]
            self.key(cursor, &e.key, f"entry[{i}].key")
            e.entry.off = cursor.i32(f"entry[{i}].off")
            e.entry.len = -1
            if e.entry.off >= 0:
                by_off.add(&e.entry)
        self.bitmaps_at = cursor.pos
        qsort(self.sorted_entries, self.entry_count, sizeof(V1Entry), _bytes_order if self.kind == BYTES else _fixed_order)
        for i in range(1, self.entry_count):
            if compare_keys(self.kind, &self.sorted_entries[i - 1].key, &self.sorted_entries[i].key) == 0:
                raise self.source.corrupt(f"{self.where}.entry.key", self.start + 10, "distinct keys",
                                          key_object(self.kind, &self.sorted_entries[i].key))
        if self.has_null and self.null_entry.off >= 0:
            by_off.add(&self.null_entry)
        if by_off.count > 1:                               # items is NULL when there are none
            qsort(by_off.items, by_off.count, sizeof(Entry), _entry_order)
        for i in range(self.entry_count):
            e = &self.sorted_entries[i]
            e.entry.most = by_off.next_off(e.entry.off, self.length - self.bitmaps_at) - e.entry.off
        self.null_entry.most = by_off.next_off(self.null_entry.off, self.length - self.bitmaps_at) - self.null_entry.off
        return 0

    cdef int _open_v2(self, Cursor cursor) except -1:
        """The secondary index: one (key, offset) a block."""
        cdef int64_t i, off, blocks_len, block_count
        cdef Py_ssize_t known, at
        # Its length is not stored. Fixed-width keys tell it from block_count; else read on until it is whole.
        cursor.view = self.source.read(self.start, min(self.length, 22), self.where)
        block_count = cursor.count32(
            "block_count",
            min(self.entry_count, (self.length - cursor.pos) // (4 + (4 if self.kind == BYTES else key_width(self.kind)))))
        if self.kind != BYTES:
            known = min(self.length, cursor.pos + block_count * (key_width(self.kind) + 4) + 4)
        else:
            known = min(self.length, cursor.pos + block_count * 64 + 4)
        self.blocks = <Block*> calloc(block_count + 1, sizeof(Block))
        if self.blocks == NULL:
            raise MemoryError()
        begin = cursor.pos
        while True:
            cursor.view = self.source.read(self.start, known, self.where)
            cursor.pos = begin
            if self.kind == BYTES and known < self.length and not _heads_fit(cursor.view, begin, block_count):
                known = min(self.length, known * 4)
                continue
            break
        self.held.append(cursor.view)
        for i in range(block_count):
            at = cursor.pos
            if self.kind != BYTES and cursor.view.size - at >= key_width(self.kind) + 4:
                self.blocks[i].key.value = read_fixed(self.kind, cursor.view.data + at)
                cursor.pos += key_width(self.kind) + 4
            else:
                self.key(cursor, &self.blocks[i].key, "block_head.key")
                cursor.need(4, "block_head.off")
                cursor.pos += 4
            off = be32s(cursor.view.data + cursor.pos - 4)
            if off < 0 or (i == 0) != (off == 0) or (i and off <= self.blocks[i - 1].at):
                raise self.source.corrupt(f"{self.where}.block_head[{i}].off", cursor.view.at + cursor.pos - 4,
                                          "0 for the first, then ascending", off)
            if i and compare_keys(self.kind, &self.blocks[i - 1].key, &self.blocks[i].key) >= 0:
                raise self.source.corrupt(f"{self.where}.block_head[{i}].key", cursor.view.at + at,
                                          "ascending keys", key_object(self.kind, &self.blocks[i].key))
            self.blocks[i].at = off
        blocks_len = cursor.count32("blocks_len", self.length - cursor.pos - 4)
        self.block_count = block_count
        if (block_count == 0) != (blocks_len == 0) or (block_count == 0) != (self.entry_count == 0):
            raise self.source.corrupt(f"{self.where}.blocks_len", cursor.view.at + cursor.pos - 4,
                                      f"blocks for {self.entry_count} entries", blocks_len)
        for i in range(block_count):
            off = self.blocks[i + 1].at if i + 1 < block_count else blocks_len
            if off > blocks_len or off - self.blocks[i].at < 4:
                raise self.source.corrupt(f"{self.where}.block_head[{i}].off", cursor.view.at, f"at most {blocks_len}", off)
            self.blocks[i].len = off - self.blocks[i].at
        for i in range(block_count):
            self.blocks[i].at += cursor.pos
        self.bitmaps_at = cursor.pos + blocks_len
        self.null_entry.most = self.length - self.bitmaps_at - max(self.null_entry.off, <int64_t> 0)
        self.checked = [None] * block_count
        return 0

    cdef Py_ssize_t entry_at(self, const uint8_t* p, Py_ssize_t left, Key* key, Entry* entry) noexcept nogil:
        """Reads a V2 entry at ``p``; returns its bytes, or -1 when ``left`` is too short."""
        cdef Py_ssize_t width = key_width(self.kind)
        cdef int64_t size
        if self.kind == BYTES:
            if left < 4:
                return -1
            size = be32s(p)
            if size < 0 or size > left - 12:
                return -1
            key.data = p + 4
            key.size = size
            width = 4 + size
        elif left < width + 8:
            return -1
        else:
            key.value = read_fixed(self.kind, p)
        entry.off = be32s(p + width)
        entry.len = be32s(p + width + 4)
        entry.most = self.length - self.bitmaps_at - entry.off if entry.off >= 0 else 0
        return width + 8

    cdef View block(self, Py_ssize_t i):
        """Block ``i``; its entries are walked and checked the first time: order, count, length."""
        cdef View view
        cdef Key key, previous
        cdef Entry entry
        cdef Py_ssize_t at = 4, used
        cdef int64_t count, j
        cdef int fault = 0, order
        if self.checked[i] is not None:
            return self.checked[i]
        view = self.source.read(self.start + self.blocks[i].at, self.blocks[i].len, self.where)
        count = be32s(view.data)
        if count < 1 or count > self.entry_count:
            raise self.source.corrupt(f"{self.where}.block[{i}].entry_count", view.at, f"1 to {self.entry_count}", count)
        previous = self.blocks[i].key
        with nogil:
            if self.kind != BYTES and view.size == 4 + count * (key_width(self.kind) + 8):
                j = _first_unordered(self.kind, view.data + 4, count, previous.value)
                at = view.size
                if j >= 0:
                    fault = 2
                    at = 4 + j * (key_width(self.kind) + 8)
                    self.entry_at(view.data + at, view.size - at, &key, &entry)
            else:
                for j in range(count):
                    used = self.entry_at(view.data + at, view.size - at, &key, &entry)
                    if used < 0:
                        fault = 1
                        break
                    order = compare_keys(self.kind, &previous, &key)
                    if order > 0 or (order == 0) != (j == 0):
                        fault = 2
                        break
                    previous = key
                    at += used
        if fault == 1 or (not fault and at != view.size):
            raise self.source.corrupt(f"{self.where}.block[{i}].entry[{j}]", view.at + at,
                                      f"{count} entries in {view.size} bytes", f"{view.size - at} bytes left")
        if fault == 2:
            raise self.source.corrupt(f"{self.where}.block[{i}].entry[{j}].key", view.at + at,
                                      "the head's key" if j == 0 else "ascending keys", key_object(self.kind, &key))
        self.checked[i] = view
        return view

    cdef int gather(self, Keys keys, Entries out) except -1:
        """Entries whose key lies in ``keys``, in key order."""
        cdef Py_ssize_t lo, hi, middle, i = 0, r = 0
        if not self.entry_count or not keys.count:
            return 0
        if self.version == VERSION_1:
            return self.gather_v1(keys, out)
        while r < keys.count:
            lo = i                                     # the last block whose first key is not above the range's start
            hi = self.block_count
            while lo < hi:
                middle = (lo + hi) >> 1
                if compare_keys(self.kind, &self.blocks[middle].key, &keys.lo[r]) <= 0:
                    lo = middle + 1
                else:
                    hi = middle
            i = max(lo - 1, i)
            if keys.above(r, &self.blocks[i].key):
                r += 1
                continue
            while i < self.block_count and r < keys.count and not keys.above(r, &self.blocks[i].key):
                if self.gather_block(i, keys, &r, out):
                    break
                i += 1
            if i == self.block_count:
                break
        return 0

    cdef int gather_block(self, Py_ssize_t i, Keys keys, Py_ssize_t* r, Entries out) except -1:
        """Adds the block's entries in the ranges from r on; returns 1 when range r ends inside the block (r moves on)
        and the next one should be searched for."""
        cdef View view = self.block(i)
        cdef Py_ssize_t at = 4, lo, hi, middle, stride
        cdef Key key
        cdef Entry entry
        cdef bint single
        if self.kind != BYTES:
            stride = key_width(self.kind) + 8
            lo = 0
            hi = (view.size - 4) // stride
            while lo < hi:                             # the first entry that is not below the range
                middle = (lo + hi) >> 1
                if read_fixed(self.kind, view.data + 4 + middle * stride) < keys.lo[r[0]].value:
                    lo = middle + 1
                else:
                    hi = middle
            at = 4 + lo * stride
        while at < view.size:
            at += self.entry_at(view.data + at, view.size - at, &key, &entry)
            if keys.above(r[0], &key):
                r[0] += 1
                return 1
            if compare_keys(self.kind, &key, &keys.lo[r[0]]) < 0:
                continue
            if keys.has_like and not keys.match(key.data, key.size):
                continue
            out.add(&entry)
            if is_single(self.kind, &keys.lo[r[0]], &keys.hi[r[0]], keys.unbounded and r[0] == keys.count - 1):
                r[0] += 1
                return 1
        return 0

    cdef int gather_v1(self, Keys keys, Entries out) except -1:
        cdef Py_ssize_t lo, hi, middle, r
        for r in range(keys.count):
            lo = 0
            hi = self.entry_count
            while lo < hi:
                middle = (lo + hi) >> 1
                if compare_keys(self.kind, &self.sorted_entries[middle].key, &keys.lo[r]) < 0:
                    lo = middle + 1
                else:
                    hi = middle
            while lo < self.entry_count and not keys.above(r, &self.sorted_entries[lo].key):
                if not keys.has_like or keys.match(self.sorted_entries[lo].key.data, self.sorted_entries[lo].key.size):
                    out.add(&self.sorted_entries[lo].entry)
                lo += 1
        return 0

    cdef int write(self, Entries entries, bint negate, bint all_rows, RowsWriter out) except -1:
        """Writes the union of the entries' rows; with ``negate`` every row that is in none of them (``all_rows``) or
        every row with a value that is in none of them."""
        cdef Pool pool = Pool.__new__(Pool)
        cdef Bitmap* bitmaps
        cdef Bitmap* b
        cdef Piece* pieces
        cdef Piece* sorted_pieces = NULL
        cdef Py_ssize_t i, j, k, singles, n = 0, piece_count = 0
        cdef int64_t begin, end, row
        cdef Entry* e
        cdef View view
        cdef Fault fault
        cdef Py_ssize_t used
        cdef list views = []
        cdef bint bad = False
        if negate and not all_rows and self.has_null:
            entries.add(&self.null_entry)
        singles = entries.singles_first()
        bitmaps = <Bitmap*> calloc(entries.count + 1, sizeof(Bitmap))
        pieces = NULL
        if bitmaps == NULL:
            raise MemoryError()
        try:
            for i in range(singles):
                row = -1 - entries.items[i].off
                if row >= self.row_count:
                    raise self.source.corrupt(f"{self.where}.entry.off", self.start, f"a row below {self.row_count}", row)
            piece_count = i = singles
            while i < entries.count:
                # One range for neighbours. Shared bytes would make a small file cost as much as a large one.
                begin = entries.items[i].off
                end = begin
                j = i
                while j < entries.count and entries.items[j].off <= end + GAP:
                    e = &entries.items[j]
                    if e.off < end:
                        raise self.source.corrupt(f"{self.where}.entry.off", self.start + self.bitmaps_at + e.off,
                                                  f"at least {end}, where the bitmap before ends", e.off)
                    if e.most < 8 or (e.len >= 0 and (e.len > e.most or e.len < 8)) or e.len < -1:
                        raise self.source.corrupt(f"{self.where}.entry.len", self.start + self.bitmaps_at + e.off,
                                                  f"8 to {e.most} bytes", e.len)
                    end = e.off + (e.len if e.len >= 0 else e.most)
                    j += 1
                view = self.source.read(self.start + self.bitmaps_at + begin, end - begin, f"{self.where}.bitmaps")
                views.append(view)
                for k in range(i, j):
                    e = &entries.items[k]
                    used = parse(view.data + (e.off - begin), e.len if e.len >= 0 else e.most, self.row_count, pool,
                                 &bitmaps[k], &fault)
                    if used < 0:
                        raise_fault(self.source, f"{self.where}.bitmap", self.start + self.bitmaps_at + e.off, &fault)
                    if used != (e.len if e.len >= 0 else e.most):
                        raise self.source.corrupt(f"{self.where}.bitmap.length", self.start + self.bitmaps_at + e.off,
                                                  used, e.len if e.len >= 0 else e.most)
                    piece_count += bitmaps[k].count
                i = j
            if entries.count == 1 and not negate and entries.items[0].off >= 0:
                for i in range(bitmaps[0].count):
                    if out.put_container(&pool.items[bitmaps[0].first + i]):
                        self._bad(pool.items[bitmaps[0].first + i].key)
                return 0
            pieces = <Piece*> malloc((piece_count + 1) * sizeof(Piece))
            if pieces == NULL:
                raise MemoryError()
            for i in range(entries.count):
                if entries.items[i].off < 0:
                    row = -1 - entries.items[i].off
                    pieces[n].key = <uint32_t> (row >> 16)
                    pieces[n].row = <uint32_t> (row & 65535)
                    pieces[n].container = NULL
                    n += 1
                else:
                    b = &bitmaps[i]
                    for j in range(b.count):
                        pieces[n].container = &pool.items[b.first + j]
                        pieces[n].key = pieces[n].container.key
                        pieces[n].row = 0
                        n += 1
            sorted_pieces = <Piece*> malloc((piece_count + 1) * sizeof(Piece))
            if sorted_pieces == NULL:
                raise MemoryError()
            with nogil:
                if _by_chunk(pieces, n, chunk_count(self.row_count), sorted_pieces) < 0:
                    with gil:
                        raise MemoryError()
                bad = _union(sorted_pieces, n, negate, out)
            if bad:
                self._bad(-1)
        finally:
            free(bitmaps)
            free(pieces)
            free(sorted_pieces)
        return 0

    def _bad(self, key):
        raise self.source.corrupt(f"{self.where}.bitmap" + (f".container[key={key}]" if key >= 0 else ""),
                                  self.start + self.bitmaps_at,
                                  f"ascending rows below {self.row_count} that add up to the stored cardinality",
                                  "others")

    def select(self, Keys keys not None, bint negate=False):
        """Rows whose value lies in ``keys``, or with ``negate`` the rows that have a value outside; a BitMap."""
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        cdef Entries entries = Entries.__new__(Entries)
        self.gather(keys, entries)
        self.write(entries, negate, False, out)
        return out.finish()

    def value_rows(self, bint absent=False):
        """Rows that have a value, or with ``absent`` the NULL rows; a BitMap."""
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        cdef Entries entries = Entries.__new__(Entries)
        if self.has_null:
            entries.add(&self.null_entry)
        self.write(entries, not absent, True, out)
        return out.finish()

    def entries(self, bint descending=False):
        """Iterates (key, rows) in key order: a sortable int or bytes, and a BitMap."""
        cdef Py_ssize_t i, step = -1 if descending else 1
        cdef int64_t walked = 0
        cdef Entry entry
        total = self.entry_count if self.version == VERSION_1 else self.block_count
        for i in (range(total - 1, -1, -1) if descending else range(total)):
            if self.version == VERSION_1:
                found = [(key_object(self.kind, &self.sorted_entries[i].key), self.sorted_entries[i].entry.off,
                          self.sorted_entries[i].entry.len, self.sorted_entries[i].entry.most)]
            else:
                found = self._block_entries(i)
            for key, entry.off, entry.len, entry.most in found[::step]:
                if entry.off >= 0:
                    walked += entry.len if entry.len >= 0 else entry.most
                    if walked > self.length - self.bitmaps_at:
                        raise self.source.corrupt(f"{self.where}.entry.len", self.start + self.bitmaps_at,
                                                  f"bitmaps of {self.length - self.bitmaps_at} bytes", walked)
                yield key, self._rows_of(&entry)

    def _block_entries(self, Py_ssize_t i):
        cdef View view = self.block(i)
        cdef Py_ssize_t at = 4
        cdef Key key
        cdef Entry entry
        found = []
        while at < view.size:
            at += self.entry_at(view.data + at, view.size - at, &key, &entry)
            found.append((key_object(self.kind, &key), entry.off, entry.len, entry.most))
        return found

    cdef object _rows_of(self, const Entry* entry):
        cdef Entries one = Entries.__new__(Entries)
        cdef RowsWriter out = RowsWriter.__new__(RowsWriter, self.row_count)
        one.add(entry)
        self.write(one, False, False, out)
        return out.finish()

    def counts(self, selection=None):
        """{key: number of rows}; keys as sortable ints or bytes. Keys without a selected row are left out."""
        counts = {}
        for key, rows in self.entries():
            n = len(rows) if selection is None else rows.intersection_cardinality(selection)
            if n:
                counts[key] = n
        return counts

    def top(self, uint64_t k, bint largest, selection=None, bint ties=False):
        """The k rows with the largest (or smallest) values; a BitMap. ``selection``: a BitMap to choose from."""
        chosen = BitMap()
        if k == 0:
            return chosen
        for key, rows in self.entries(largest):
            if selection is not None:
                rows = rows & selection
            if not ties and len(rows) > k - len(chosen):
                rows = rows[:k - len(chosen)]
            chosen |= rows
            if len(chosen) >= k:
                break
        return chosen


cdef int64_t _first_unordered(int kind, const uint8_t* p, int64_t count, int64_t first) noexcept nogil:
    """The first entry of a fixed-width block whose key is not above the one before (for entry 0: is not ``first``); -1
    when all are in order. One loop a width, so that none asks for the kind at every entry: twice as fast."""
    cdef int64_t j, previous, value
    cdef Py_ssize_t stride = key_width(kind) + 8
    if read_fixed(kind, p) != first:
        return 0
    previous = first
    if kind == INT32:
        for j in range(1, count):
            value = read_fixed(INT32, p + j * 12)
            if value <= previous:
                return j
            previous = value
    elif kind == INT64:
        for j in range(1, count):
            value = read_fixed(INT64, p + j * 16)
            if value <= previous:
                return j
            previous = value
    else:
        for j in range(1, count):
            value = read_fixed(kind, p + j * stride)
            if value <= previous:
                return j
            previous = value
    return -1


cdef bint _heads_fit(View view, Py_ssize_t pos, int64_t block_count):
    """Whether the view holds all block heads of bytes keys and the length after them."""
    cdef int64_t i, size
    for i in range(block_count):
        if view.size - pos < 4:
            return False
        size = be32s(view.data + pos)
        if size < 0:
            return True                                # corrupt; the reader says where
        if size > view.size - pos - 8:
            return False
        pos += 8 + size
    return view.size - pos >= 4


cdef bint _union(const Piece* pieces, Py_ssize_t n, bint negate, RowsWriter out) except -1 nogil:
    """Pieces sorted by chunk -> rows, or with ``negate`` the rows of row_count that are in no piece. True: a container
    is not well formed or a row lies beyond row_count."""
    cdef uint64_t words[1024]
    cdef uint64_t one[1024]
    cdef Py_ssize_t i = 0
    cdef uint32_t chunk, limit, last = chunk_count(out.row_count)
    cdef uint64_t listed                   # values in arrays, and single rows
    cdef bint unlisted
    cdef const Container* c
    for chunk in range(last):
        if not negate:
            if i == n:
                break
            if pieces[i].key > chunk:
                continue
        limit = out.limit(chunk)
        if i == n or pieces[i].key != chunk:
            out.put_range(<uint16_t> chunk, 0, limit)
            continue
        memset(words, 0, CHUNK_BYTES)
        listed, unlisted = 0, False
        while i < n and pieces[i].key == chunk:
            c = pieces[i].container
            if c == NULL:
                words[pieces[i].row >> 6] |= <uint64_t> 1 << (pieces[i].row & 63)
                listed += 1
            elif c.kind == ARRAY:
                fidx_set_values(words, c.data, c.cardinality)
                listed += c.cardinality
            else:
                unlisted = True
                if not fill(c, one):
                    return True
                kernels().or_into(words, <const uint8_t*> one)
            i += 1
        if negate and not unlisted and listed <= FEW_HOLES:
            if out.put_holes(<uint16_t> chunk, words, <uint32_t> listed):
                return True
        elif negate:
            memset(one, 0, CHUNK_BYTES)
            fidx_fill_range(one, 0, limit)
            kernels().andnot_into(one, <const uint8_t*> words)
            # rows beyond row_count must show in the complement too
            if limit < CHUNK_ROWS:
                _keep_beyond(words, limit)
                if kernels().popcount(<const uint8_t*> words):
                    return True
            out.put_words(<uint16_t> chunk, one)
        elif out.put_words(<uint16_t> chunk, words):
            return True
    return False


cdef void _keep_beyond(uint64_t* words, uint32_t limit) noexcept nogil:
    """Clears the rows below ``limit``."""
    cdef uint32_t i
    for i in range(limit >> 6):
        words[i] = 0
    if limit & 63:
        words[limit >> 6] &= ~<uint64_t> 0 << (limit & 63)



@cython.final
cdef class Writer:
    """Writes version 1 or 2; ``block_size`` bounds an index block of version 2, in bytes."""
    cdef readonly int version
    cdef readonly Py_ssize_t block_size

    def __init__(self, int version=2, Py_ssize_t block_size=16384):
        if version != VERSION_1 and version != VERSION_2:
            raise ValueError(f"bitmap version 1 or 2 was expected, found {version}")
        self.version = version
        self.block_size = block_size

    def write(self, Codes codes not None, Output out not None):
        """Appends the index. ValueError for a key that does not fit into one block of version 2."""
        cdef Py_ssize_t count, nulls = codes.column.null_count, null_row = 0, null_len = 0, body_at, end
        cdef int kind = codes.column.kind, width = key_width(kind)
        cdef Planes null_rows = None
        cdef uint8_t* at
        codes.need_rows()
        count = codes.distinct_count
        if nulls:
            null_rows = Planes(codes.column.row_count, 1)
            with nogil:
                null_rows.set_rows(0, codes.column.valid)
                null_rows.complement(0)
                null_row = null_rows.first_row(0)
                null_len = null_rows.measure(0, NULL)
        out.ensure(18)
        at = out.base + out.used
        at[0] = <uint8_t> self.version
        put_be32(at + 1, <uint32_t> codes.column.row_count)
        put_be32(at + 5, <uint32_t> count)
        at[9] = nulls > 0
        out.used += 10
        if nulls:
            put_be32(at + 10, <uint32_t> (-1 - null_row if nulls == 1 else 0))
            out.used += 4
            if self.version == VERSION_2:
                put_be32(at + 14, <uint32_t> null_len)
                out.used += 4
        body_at = self.reserve_entries(codes, kind, width, out)
        out.used = body_at
        with nogil:
            if nulls > 1:
                null_rows.write(0, NULL, out)
            self.write_bitmaps(codes, kind, width, body_at, out)

    cdef Py_ssize_t entries_at

    cdef Py_ssize_t reserve_entries(self, Codes codes, int kind, int width, Output out) except -1:
        """Writes the blocks' heads, leaves room for the entries; returns where the bitmaps begin."""
        cdef Py_ssize_t count = codes.distinct_count, i, size, used = 0, block_count = 0, heads_len = 0, blocks_len = 0
        cdef Py_ssize_t most = self.block_size, length, block_off = 0
        cdef uint8_t* at
        if self.version == VERSION_1:
            with nogil:
                for i in range(count):
                    blocks_len += key_len(codes, width, i) + 4
            out.ensure(blocks_len)
            self.entries_at = out.used
            return out.used + blocks_len
        with nogil:
            for i in range(count):
                size = key_len(codes, width, i) + 8
                if i == 0 or size > most - used:
                    if 4 + size > most:
                        with gil:
                            raise ValueError(f"column {codes.column.label!r}: a key that takes {size - 8} bytes does not "
                                             f"fit into an index block of {most} bytes (option index-block-size)")
                    block_count += 1
                    heads_len += size - 4
                    blocks_len += 4
                    used = 4
                used += size
                blocks_len += size
        length = 4 + heads_len + 4 + blocks_len
        out.ensure(length)
        self.entries_at = out.used + length - blocks_len
        with nogil:
            at = out.base + out.used
            put_be32(at, <uint32_t> block_count)
            at += 4
            for i in range(count):
                size = key_len(codes, width, i) + 8
                if i == 0 or size > most - used:
                    block_off += used if i else 0
                    at = put_key(codes, kind, i, at)
                    put_be32(at, <uint32_t> block_off)
                    at += 4
                    used = 4
                used += size
            put_be32(at, <uint32_t> blocks_len)
        return out.used + length

    cdef int write_bitmaps(self, Codes codes, int kind, int width, Py_ssize_t body_at, Output out) except -1 nogil:
        """Bitmaps in key order, and the entries that point to them."""
        cdef Py_ssize_t count = codes.distinct_count, i, size, used = 0, entry_at = self.entries_at, block_at = 0
        cdef Py_ssize_t most = self.block_size, rows, at, first, next_first = 0
        cdef uint32_t in_block = 0
        cdef uint8_t* entry
        cdef bint blocks = self.version == VERSION_2
        for i in range(count):
            first = next_first
            next_first = next_head(codes.heads, first + 1, codes.kept)
            rows = next_first - first
            if rows > 1:
                out.ensure(most_list_bytes(rows))
            if blocks:
                size = key_len(codes, width, i) + 8
                if i == 0 or size > most - used:
                    if i:
                        put_be32(out.base + block_at, in_block)
                    block_at = entry_at
                    entry_at += 4
                    in_block = 0
                    used = 4
                used += size
                in_block += 1
            entry = put_key(codes, kind, i, out.base + entry_at)
            if rows == 1:
                put_be32(entry, <uint32_t> (-1 - <Py_ssize_t> codes.rows[first]))
                if blocks:
                    put_be32(entry + 4, <uint32_t> NO_LEN)
            else:
                at = out.used
                out.used = put_row_list(codes.rows + first, rows, out.base + at) - out.base
                put_be32(entry, <uint32_t> (at - body_at))
                if blocks:
                    put_be32(entry + 4, <uint32_t> (out.used - at))
            entry_at = entry - out.base + (8 if blocks else 4)
        if blocks and count:
            put_be32(out.base + block_at, in_block)
        return 0

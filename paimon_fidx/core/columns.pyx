"""Arrow columns, as any library hands them over, turned into the keys an index stores.

Arrow types are checked against the Paimon type of the column before any row is read. One column of one batch is a chain
that ends in plain buffers:

    map             rows -> the entry with the wanted key -> its value
    dictionary      rows -> the index -> a value of the dictionary
    run-end encoded rows -> the run they lie in -> its value
    leaf            numbers, bits, or strings with 32-bit offsets, 64-bit offsets, views or a fixed length

Whatever stands before the leaf becomes one index (row -> slot of the leaf, -1 for NULL). A leaf that already has the
form of the keys is used where it stands; strings always are.

    key kind          Paimon types                              key
    BOOL              BOOLEAN                                   0 or 1
    INT8 INT16 INT32  TINYINT, SMALLINT, INT, DATE, TIME        value; days; milliseconds of the day
    INT64             BIGINT, TIMESTAMP, DECIMAL                value; milliseconds (p <= 3) or microseconds; unscaled
    FLOAT32 FLOAT64   FLOAT, DOUBLE                             bits b, or b ^ 0x7ff.. when negative; one NaN
    BYTES             CHAR, VARCHAR, STRING, BINARY, ...        the bytes

Values finer than their type are rounded towards minus infinity, as Java Paimon does.
"""
from libc.stdint cimport int8_t, int16_t, uint16_t
from libc.string cimport memcpy, memset, strcmp

cimport cython

from paimon_fidx.core.arrow cimport (
    FROM_BOOL, FROM_BYTES, FROM_D128, FROM_D256, FROM_F32, FROM_F64, FROM_I8, FROM_I16, FROM_I32, FROM_I64, FROM_NULL,
    FROM_U8, FROM_U16, FROM_U32, FROM_U64, ArrayHandle, ArrowArray, ArrowSchema, SchemaHandle, describe, plain_schema,
    source_of, text)
from paimon_fidx.core.keys cimport BOOL, BYTES, FLOAT32, FLOAT64, INT8, INT16, INT32, INT64
from paimon_fidx.core.planes cimport build_kernels

from paimon_fidx.errors import UnsupportedError

cdef Py_ssize_t MOST_ROWS = 0x7fffffff         # row numbers in an index are signed 32-bit numbers

ctypedef fused number_t:
    int8_t
    uint8_t
    int16_t
    uint16_t
    int32_t
    uint32_t
    int64_t
    uint64_t

ctypedef fused key_t:
    int32_t
    int64_t

@cython.final
cdef class Column:
    """Collects one indexed column (or one key of a MAP column) batch by batch.

    Parameters
    ----------
    label : str         the column's name in messages
    kind : int          key kind, 0 BOOL to 7 BYTES
    logical : str       what the Arrow values mean: int, date, time, millis, micros, decimal, string, bytes or ""
    scale : int         of a DECIMAL
    map_key : str|None  the key to pick from a MAP column
    """
    cdef readonly str label
    cdef readonly int kind
    cdef str logical
    cdef int scale
    cdef bytes map_key
    cdef readonly Py_ssize_t row_count
    cdef list schemas
    cdef list arrays
    cdef list fields

    def __init__(self, str label, int kind, str logical="", int scale=0, map_key=None):
        self.label = label
        self.kind = kind
        self.logical = logical
        self.scale = scale
        self.map_key = None if map_key is None else map_key.encode()
        self.row_count = 0
        self.schemas, self.arrays, self.fields = [], [], []

    @property
    def is_map_key(self):
        """Whether this is one key of a MAP column."""
        return self.map_key is not None

    def check(self, SchemaHandle schema, Py_ssize_t field):
        """UnsupportedError naming the column unless its Arrow type can hold the column's Paimon type."""
        self.leaf_source(schema.c.children[field])

    def append(self, SchemaHandle schema, Py_ssize_t field, ArrayHandle column):
        """Adds the rows of one batch; ``column`` comes from :meth:`ArrayHandle.take` and stays referenced."""
        if column.row_count > MOST_ROWS - self.row_count:
            raise ValueError(f"column {self.label!r}: more than {MOST_ROWS} rows do not fit into one index file")
        self.schemas.append(schema)
        self.fields.append(field)
        self.arrays.append(column)
        self.row_count += column.row_count

    cdef object leaf_source(self, ArrowSchema* field):
        cdef ArrowSchema* top = field
        cdef bint inside = self.map_key is None
        while True:
            if field.dictionary != NULL:
                field = field.dictionary
            elif not strcmp(field.format, b"+r") and field.n_children == 2:
                field = field.children[1]
            elif not inside and not strcmp(field.format, b"+m") and field.children[0].n_children == 2:
                key_source = source_of(text(plain_schema(field.children[0].children[0]).format), BYTES, "string", 0)
                if key_source is None:
                    break
                field = field.children[0].children[1]
                inside = True
            else:
                break
        found = source_of(text(field.format), self.kind, self.logical, self.scale) if inside else None
        if found is None:
            raise UnsupportedError(f"column {self.label!r}", expected=self.expected(),
                                   found=f"Arrow type {describe(top)}",
                                   hint="cast the column, or give the schema it is stored with")
        return found

    cdef str expected(self):
        names = {BOOL: "bool", FLOAT32: "float32", FLOAT64: "float32 or float64"}
        logical = {"int": "an integer type", "date": "date32 or date64", "time": "time32 or time64",
                   "millis": "timestamp", "micros": "timestamp", "decimal": f"decimal with scale {self.scale}",
                   "string": "a string type", "bytes": "a binary type"}
        plain = names.get(self.kind) or logical[self.logical]
        return plain if self.map_key is None else f"a map from strings to {plain}"

    def keys(self):
        """The :class:`KeyColumn` of all rows appended so far.

        Raises ValueError naming the column when a value does not fit its type.
        """
        cdef KeyColumn keys = KeyColumn()
        cdef Gather gather = Gather(self, keys)
        gather.run()
        return keys


@cython.final
cdef class KeyColumn:
    def __cinit__(self):
        self.arena = Arena()
        self.held = []
        self.narrow = NULL
        self.wide = NULL
        self.valid = NULL
        self.chunks = NULL
        self.row_count = self.null_count = self.chunk_count = 0


@cython.final
cdef class Gather:
    """Turns the chunks of one column into its keys."""
    cdef Column column
    cdef KeyColumn keys
    cdef Arena arena
    cdef uint64_t* valid
    cdef Py_ssize_t done

    def __cinit__(self, Column column, KeyColumn keys):
        self.column = column
        self.keys = keys
        self.arena = keys.arena
        self.done = 0

    cdef int run(self) except -1:
        cdef KeyColumn keys = self.keys
        cdef Py_ssize_t n = self.column.row_count, words = (n + 63) >> 6, i
        cdef bint wide = self.column.kind == INT64 or self.column.kind == FLOAT64
        cdef void* out = NULL
        cdef SchemaHandle schema
        keys.label = self.column.label
        keys.kind = self.column.kind
        keys.row_count = n
        self.valid = <uint64_t*> self.arena.take(8 * words)
        memset(self.valid, 255, 8 * words)
        if n & 63:
            self.valid[words - 1] = (<uint64_t> 1 << (n & 63)) - 1
        if keys.kind == BYTES:
            keys.chunks = <BytesChunk*> self.arena.take(len(self.column.arrays) * sizeof(BytesChunk))
            keys.held.extend(self.column.arrays)
        elif len(self.column.arrays) == 1 and self.adopt():
            self.arena.drop(self.valid)
            return 0
        else:
            out = self.arena.take((8 if wide else 4) * n)
            if wide:
                keys.wide = <const int64_t*> out
            else:
                keys.narrow = <const int32_t*> out
        for i in range(len(self.column.arrays)):
            schema = self.column.schemas[i]
            self.add(schema.c.children[<Py_ssize_t> self.column.fields[i]], self.column.arrays[i], out)
        keys.null_count = n - <Py_ssize_t> build_kernels().count_bits(self.valid, words)
        if keys.null_count:
            keys.valid = self.valid
        else:
            self.arena.drop(self.valid)
        return 0

    cdef bint adopt(self) except -1:
        """Uses the values of a single chunk where they stand; False when they need converting."""
        cdef ArrayHandle array = self.column.arrays[0]
        cdef SchemaHandle schema = self.column.schemas[0]
        cdef ArrowSchema* field = schema.c.children[<Py_ssize_t> self.column.fields[0]]
        cdef const uint8_t* at
        cdef int width = 8 if self.column.kind == INT64 else 4
        if self.column.kind != INT32 and self.column.kind != INT64 or self.column.map_key is not None:
            return False
        if field.dictionary != NULL or field.format[0] == c"+" or array.c.n_buffers != 2 or array.row_count == 0:
            return False
        source, up, down = self.column.leaf_source(field)
        if source != (FROM_I64 if width == 8 else FROM_I32) or up != 1 or down != 1:
            return False
        if array.c.buffers[0] != NULL and array.c.null_count != 0:
            return False
        at = <const uint8_t*> array.c.buffers[1] + width * (array.c.offset + array.first)
        if at == NULL or <size_t> at % width:
            return False               # add_numbers copies it
        if width == 8:
            self.keys.wide = <const int64_t*> at
        else:
            self.keys.narrow = <const int32_t*> at
        self.keys.held.append(array)
        return True

    cdef int add(self, ArrowSchema* field, ArrayHandle column, void* out) except -1:
        """One chunk: resolves what stands before the leaf, then its validity and its values."""
        cdef ArrowArray* array = &column.c
        cdef Py_ssize_t count = column.row_count, first = column.first
        cdef int32_t* index = NULL
        cdef bint inside = self.column.map_key is None
        if count == 0:
            return 0
        source, up, down = self.column.leaf_source(field)
        while True:
            if field.dictionary != NULL:
                index = self.through_dictionary(field, array, index, first, count)
                field, array = field.dictionary, array.dictionary
            elif not strcmp(field.format, b"+r"):
                index = self.through_runs(field, array, index, first, count)
                field, array = field.children[1], array.children[1]
            elif not inside:
                index = self.through_map(field, array, first, count)
                field, array = field.children[0].children[1], array.children[0].children[1]
                inside = True
            else:
                break
            first = 0
        if source == FROM_NULL:
            clear_bits(self.valid, self.done, count)
            self.add_nothing(out, count)
        else:
            if array.n_buffers < (2 if source != FROM_BYTES or field.format[0] == c"w" else 3):
                raise self.broken("too few buffers")
            if index == NULL:
                if array.null_count != 0 and array.buffers[0] != NULL:
                    copy_bits(<const uint8_t*> array.buffers[0], array.offset + first, count, self.valid, self.done)
            else:
                drop_null_slots(index, count, array.offset, <const uint8_t*> array.buffers[0], self.valid, self.done)
            if source == FROM_BYTES:
                self.add_bytes(field, array, index, first, count)
                index = NULL               # the chunk keeps it
            else:
                self.add_numbers(source, up, down, array, index, first, count, out)
        self.arena.drop(index)
        self.done += count
        return 0

    cdef int add_nothing(self, void* out, Py_ssize_t count) except -1:
        cdef BytesChunk* chunk
        cdef int32_t* index
        if self.keys.kind == BYTES:
            index = <int32_t*> self.arena.take(4 * count)
            memset(index, 255, 4 * count)
            chunk = self.keys.chunks + self.keys.chunk_count
            memset(chunk, 0, sizeof(BytesChunk))
            chunk.row_count = count
            chunk.index = index
            self.keys.chunk_count += 1
        elif self.keys.wide != NULL:
            memset(<int64_t*> out + self.done, 0, 8 * count)
        else:
            memset(<int32_t*> out + self.done, 0, 4 * count)
        return 0

    cdef int add_bytes(self, ArrowSchema* field, ArrowArray* array, const int32_t* index, Py_ssize_t first,
                       Py_ssize_t count) except -1:
        cdef BytesChunk* chunk = self.keys.chunks + self.keys.chunk_count
        self.lay_bytes(field, array, chunk)
        chunk.row_count = count
        chunk.first = array.offset + first
        chunk.index = index
        self.keys.chunk_count += 1
        return 0

    cdef int lay_bytes(self, ArrowSchema* field, ArrowArray* array, BytesChunk* chunk) except -1:
        cdef const char* form = field.format
        memset(chunk, 0, sizeof(BytesChunk))
        chunk.slot_count = array.offset + array.length
        if array.n_buffers < (2 if form[0] == c"w" else 3) and form[0] != c"v":
            raise self.broken("too few buffers")
        if form[0] == c"w":
            chunk.layout = FIXED_LEN
            chunk.fixed_len = int(text(form)[2:])
            chunk.data = <const uint8_t*> array.buffers[1]
        elif form[0] == c"v":
            chunk.layout = VIEWS
            chunk.offsets = array.buffers[1]
            chunk.view_buffers = array.buffers + 2
        else:
            chunk.layout = LARGE_OFFSETS if form[0] == c"U" or form[0] == c"Z" else SMALL_OFFSETS
            chunk.offsets = array.buffers[1]
            chunk.data = <const uint8_t*> array.buffers[2]
        if chunk.offsets == NULL and chunk.layout != FIXED_LEN and array.length:
            raise self.broken("no offsets")
        return 0

    cdef int add_numbers(self, int source, object up, object down, ArrowArray* array, const int32_t* index,
                         Py_ssize_t first, Py_ssize_t count, void* out) except -1:
        cdef KeyColumn keys = self.keys
        cdef Py_ssize_t slots = count, start = array.offset + first, i
        cdef const void* values = array.buffers[1]
        cdef bint direct = up == 1 and down == 1 and source != FROM_U64
        cdef int64_t* wide = NULL
        cdef int64_t* taken
        cdef int32_t* narrow = NULL
        cdef void* aligned = NULL
        cdef size_t width
        cdef bint fits = True
        if values == NULL:
            raise self.broken("no values")
        if index != NULL:
            start, slots = 0, array.offset + array.length
        width = source_width(source)
        if <size_t> values % min(width, 8):    # Arrow recommends alignment but does not promise it
            aligned = self.arena.take(width * (slots + 1))
            memcpy(aligned, <const uint8_t*> values + width * start, width * slots)
            values, start = aligned, 0
        if keys.narrow != NULL and direct and index == NULL and self.convert_narrow(
                source, values, start, slots, <int32_t*> out + self.done):
            self.zero_nulls(<int32_t*> out + self.done, NULL, count)
            self.arena.drop(aligned)
            return 0
        # Everything else goes through 64 bits: converted, NULL rows cleared, scaled, checked, stored.
        if keys.wide != NULL and index == NULL:
            wide = <int64_t*> out + self.done
        else:
            wide = <int64_t*> self.arena.take(8 * slots)
        fits = self.convert_wide(source, values, start, slots, wide, index == NULL)
        if index != NULL:
            taken = <int64_t*> out + self.done if keys.wide != NULL else <int64_t*> self.arena.take(8 * count)
            with nogil:
                for i in range(count):
                    taken[i] = wide[index[i]] if index[i] >= 0 else 0
            if not fits:
                fits = not self.any_taken(array, index, count)
            self.arena.drop(wide)
            wide = taken
        self.arena.drop(aligned)
        self.zero_nulls(NULL, wide, count)
        if not fits:
            raise ValueError(f"column {self.column.label!r}: a decimal does not fit into the 64 bits an index keeps")
        self.scale_and_check(source, wide, count, up, down)
        if keys.narrow != NULL:
            narrow = <int32_t*> out + self.done
            with nogil:
                for i in range(count):
                    narrow[i] = <int32_t> wide[i]
            self.arena.drop(wide)
        return 0

    cdef bint any_taken(self, ArrowArray* array, const int32_t* index, Py_ssize_t count) noexcept:
        """Whether a decimal beyond 64 bits is named by any row."""
        cdef Py_ssize_t i
        cdef const uint64_t* values = <const uint64_t*> array.buffers[1]
        cdef int words = 4 if self.decimal_words == 4 else 2
        for i in range(count):
            if index[i] >= 0 and not fits_word(values + words * index[i], words):
                return True
        return False

    cdef int decimal_words

    cdef bint convert_narrow(self, int source, const void* values, Py_ssize_t start, Py_ssize_t count,
                             int32_t* out) noexcept:
        """Values whose every bit pattern is a key of up to 32 bits; False when they need checks."""
        cdef int kind = self.keys.kind
        with nogil:
            if source == FROM_BOOL:
                spread_bits(<const uint8_t*> values, start, count, out)
            elif source == FROM_F32 and kind == FLOAT32:
                sort_floats(<const uint32_t*> values + start, count, out)
            elif source == FROM_I8:
                copy_numbers(<const int8_t*> values + start, out, count)
            elif source == FROM_U8 and kind != INT8:
                copy_numbers(<const uint8_t*> values + start, out, count)
            elif source == FROM_I16 and kind != INT8:
                copy_numbers(<const int16_t*> values + start, out, count)
            elif source == FROM_U16 and kind == INT32:
                copy_numbers(<const uint16_t*> values + start, out, count)
            elif source == FROM_I32 and kind == INT32:
                copy_numbers(<const int32_t*> values + start, out, count)
            else:
                return False
        return True

    cdef bint convert_wide(self, int source, const void* values, Py_ssize_t start, Py_ssize_t count, int64_t* out,
                           bint rows_are_slots) noexcept:
        """Values as 64-bit numbers; False when a decimal that is not NULL does not fit."""
        cdef bint fits = True
        cdef const uint64_t* words
        cdef Py_ssize_t i
        cdef int n
        with nogil:
            if source == FROM_BOOL:
                spread_bits(<const uint8_t*> values, start, count, out)
            elif source == FROM_I8:
                copy_numbers(<const int8_t*> values + start, out, count)
            elif source == FROM_U8:
                copy_numbers(<const uint8_t*> values + start, out, count)
            elif source == FROM_I16:
                copy_numbers(<const int16_t*> values + start, out, count)
            elif source == FROM_U16:
                copy_numbers(<const uint16_t*> values + start, out, count)
            elif source == FROM_I32:
                copy_numbers(<const int32_t*> values + start, out, count)
            elif source == FROM_U32:
                copy_numbers(<const uint32_t*> values + start, out, count)
            elif source == FROM_I64 or source == FROM_U64:
                copy_numbers(<const int64_t*> values + start, out, count)
            elif source == FROM_F32 and self.keys.kind == FLOAT32:
                for i in range(count):
                    sort_floats(<const uint32_t*> values + start + i, 1, <int32_t*> (out + i))
                    out[i] = (<int32_t*> (out + i))[0]
            elif source == FROM_F32:
                widen_floats(<const float*> values + start, count, out)
            elif source == FROM_F64:
                sort_doubles(<const uint64_t*> values + start, count, out)
            else:
                n = 4 if source == FROM_D256 else 2
                self.decimal_words = n
                words = <const uint64_t*> values + n * start
                for i in range(count):
                    out[i] = <int64_t> words[n * i]
                    if not fits_word(words + n * i, n):
                        # A NULL row may hold anything.
                        if not rows_are_slots or self.valid[(self.done + i) >> 6] >> ((self.done + i) & 63) & 1:
                            fits = False
        return fits

    cdef int scale_and_check(self, int source, int64_t* wide, Py_ssize_t count, object up, object down) except -1:
        cdef int64_t least = 0, most = 0, factor = up, divisor = down
        cdef int kind = self.keys.kind, bits
        if source == FROM_BOOL or source == FROM_F32 or source == FROM_F64:
            return 0
        build_kernels().extremes64(wide, count, &least, &most)
        if source == FROM_U64 and least < 0:
            raise self.out_of_range(<uint64_t> least)
        if factor != 1:
            if most > 0x7fffffffffffffff // factor or least < -(0x7fffffffffffffff // factor):
                raise self.out_of_range(most if most > -least else least)
        with nogil:
            rescale(wide, count, factor, divisor)
        if kind != INT64:
            bits = 8 if kind == INT8 else 16 if kind == INT16 else 32
            build_kernels().extremes64(wide, count, &least, &most)
            if most >= <int64_t> 1 << (bits - 1) or least < -(<int64_t> 1 << (bits - 1)):
                raise self.out_of_range(most if most >= <int64_t> 1 << (bits - 1) else least)
        return 0

    cdef object out_of_range(self, value):
        return ValueError(f"column {self.column.label!r}: the value {value} does not fit into the column's type")

    cdef object broken(self, str what):
        return ValueError(f"column {self.column.label!r}: a malformed Arrow array ({what})")

    cdef int zero_nulls(self, int32_t* narrow, int64_t* wide, Py_ssize_t count) except -1:
        """NULL rows get the key 0, whatever their slot held."""
        cdef uint64_t* words = NULL
        cdef const uint64_t* valid = self.valid + (self.done >> 6)
        cdef Py_ssize_t n = (count + 63) >> 6, i
        cdef int shift = self.done & 63
        if shift:                          # the kernels want the chunk's first row in bit 0
            words = <uint64_t*> self.arena.take(8 * n)
            for i in range(n):
                words[i] = valid[i] >> shift
                if ((i + 1) << 6) - shift < count:
                    words[i] |= valid[i + 1] << (64 - shift)
            valid = words
        if wide != NULL:
            build_kernels().zero_nulls64(wide, valid, count)
        else:
            build_kernels().zero_nulls32(narrow, valid, count)
        self.arena.drop(words)
        return 0

    # --- rows -> index

    cdef int32_t* through_dictionary(self, ArrowSchema* field, ArrowArray* array, int32_t* index, Py_ssize_t first,
                                     Py_ssize_t count) except NULL:
        """Rows (or what ``index`` makes of them) to positions in the dictionary."""
        cdef int32_t* out = index if index != NULL else <int32_t*> self.arena.take(4 * count)
        cdef const uint8_t* validity = <const uint8_t*> array.buffers[0] if array.n_buffers else NULL
        cdef const void* values = array.buffers[1]
        cdef Py_ssize_t i, slot, most = array.dictionary.length
        cdef int64_t value
        cdef char form = field.format[0]
        cdef bint bad = False
        if values == NULL or most > MOST_ROWS or field.format[1] or form not in b"cCsSiIlL":
            raise self.broken("dictionary")
        if array.null_count == 0:
            validity = NULL
        with nogil:
            for i in range(count):
                slot = array.offset + (first + i if index == NULL else index[i])
                if index != NULL and index[i] < 0 or validity != NULL and not validity[slot >> 3] >> (slot & 7) & 1:
                    out[i] = -1
                    continue
                value = integer_at(form, values, slot)
                if value < 0 or value >= most:
                    bad = True
                    break
                out[i] = <int32_t> value
        if bad:
            raise self.broken(f"dictionary index {value} outside {most} entries")
        return out

    cdef int32_t* through_runs(self, ArrowSchema* field, ArrowArray* array, int32_t* index, Py_ssize_t first,
                               Py_ssize_t count) except NULL:
        """Rows to the runs of a run-end encoded array; its run ends count from before its own offset."""
        cdef int32_t* out = index if index != NULL else <int32_t*> self.arena.take(4 * count)
        cdef ArrowArray* ends
        cdef Py_ssize_t i, row, low, high, middle, runs, at = 0
        cdef char form
        cdef bint bad = False
        if array.n_children != 2:
            raise self.broken("run ends")
        ends = array.children[0]
        runs = ends.length
        form = field.children[0].format[0]
        if form not in b"sil" or ends.n_buffers < 2 or ends.buffers[1] == NULL or runs > MOST_ROWS:
            raise self.broken("run ends")
        with nogil:
            for i in range(count):
                if index != NULL and index[i] < 0:
                    continue
                row = array.offset + (first + i if index == NULL else index[i])
                if not (at < runs and integer_at(form, ends.buffers[1], ends.offset + at) > row
                        and (at == 0 or integer_at(form, ends.buffers[1], ends.offset + at - 1) <= row)):
                    low, high = 0, runs
                    while low < high:
                        middle = (low + high) >> 1
                        if integer_at(form, ends.buffers[1], ends.offset + middle) > row:
                            high = middle
                        else:
                            low = middle + 1
                    at = low
                if at >= runs:
                    bad = True
                    break
                out[i] = <int32_t> at
        if bad:
            raise self.broken("a row behind the last run")
        return out

    cdef int32_t* through_map(self, ArrowSchema* field, ArrowArray* array, Py_ssize_t first,
                              Py_ssize_t count) except NULL:
        """Rows to the first entry that has the wanted key, as Spark's element_at picks it."""
        cdef int32_t* out = <int32_t*> self.arena.take(4 * count)
        cdef const uint8_t* validity = <const uint8_t*> array.buffers[0]
        cdef const int32_t* offsets = <const int32_t*> array.buffers[1]
        cdef ArrowArray* entries
        cdef ArrowArray* names
        cdef ArrowSchema* name_field = field.children[0].children[0]
        cdef int32_t* inner = NULL
        cdef BytesChunk chunk
        cdef Py_ssize_t i, slot, position, size, entry
        cdef const uint8_t* at
        cdef const uint8_t* wanted = self.column.map_key
        cdef Py_ssize_t wanted_size = len(self.column.map_key)
        if array.n_children != 1 or array.children[0].n_children != 2 or offsets == NULL:
            raise self.broken("map")
        entries = array.children[0]
        names = entries.children[0]
        if entries.offset + entries.length > MOST_ROWS or names.length < entries.offset + entries.length:
            raise self.broken("map entries")
        if plain_schema(name_field) != name_field:
            inner = self.resolve_names(name_field, names)
            while plain_schema(name_field) != name_field:
                if name_field.dictionary != NULL:
                    name_field, names = name_field.dictionary, names.dictionary
                else:
                    name_field, names = name_field.children[1], names.children[1]
        self.lay_bytes(name_field, names, &chunk)
        if array.null_count == 0:
            validity = NULL
        with nogil:
            for i in range(count):
                slot = array.offset + first + i
                out[i] = -1
                if validity != NULL and not validity[slot >> 3] >> (slot & 7) & 1:
                    continue
                for entry in range(offsets[slot], offsets[slot + 1]):
                    if entry >= entries.length:
                        break
                    position = entries.offset + entry
                    if inner != NULL:
                        if inner[position] < 0:
                            continue
                        bytes_at(&chunk, names.offset + inner[position], &at, &size)
                    else:
                        bytes_at(&chunk, names.offset + position, &at, &size)
                    if size == wanted_size and same_bytes(at, wanted, size):
                        out[i] = <int32_t> position
                        break
        self.arena.drop(inner)
        return out

    cdef int32_t* resolve_names(self, ArrowSchema* field, ArrowArray* array) except NULL:
        cdef int32_t* index = NULL
        cdef Py_ssize_t count = array.length
        while True:
            if field.dictionary != NULL:
                index = self.through_dictionary(field, array, index, 0, count)
                field, array = field.dictionary, array.dictionary
            elif not strcmp(field.format, b"+r"):
                index = self.through_runs(field, array, index, 0, count)
                field, array = field.children[1], array.children[1]
            else:
                return index


# ------------------------------------------------------------------------------------------------- loops over rows

cdef inline bint same_bytes(const uint8_t* a, const uint8_t* b, Py_ssize_t size) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(size):
        if a[i] != b[i]:
            return False
    return True


cdef size_t source_width(int source) noexcept nogil:
    """Bytes of one value in its buffer."""
    if source == FROM_I16 or source == FROM_U16:
        return 2
    if source == FROM_I32 or source == FROM_U32 or source == FROM_F32:
        return 4
    if source == FROM_I64 or source == FROM_U64 or source == FROM_F64:
        return 8
    return 16 if source == FROM_D128 else 32 if source == FROM_D256 else 1


cdef inline bint fits_word(const uint64_t* words, int count) noexcept nogil:
    """Whether a two's complement number of several words is one of 64 bits."""
    cdef uint64_t sign = <uint64_t> (<int64_t> words[0] >> 63)
    cdef int i
    for i in range(1, count):
        if words[i] != sign:
            return False
    return True


cdef inline int64_t integer_at(char form, const void* values, Py_ssize_t i) noexcept nogil:
    if form == c"i":
        return (<const int32_t*> values)[i]
    if form == c"c":
        return (<const int8_t*> values)[i]
    if form == c"C":
        return (<const uint8_t*> values)[i]
    if form == c"s":
        return (<const int16_t*> values)[i]
    if form == c"S":
        return (<const uint16_t*> values)[i]
    if form == c"I":
        return (<const uint32_t*> values)[i]
    return (<const int64_t*> values)[i]


cdef void copy_numbers(const number_t* values, key_t* out, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        out[i] = <key_t> values[i]


cdef void spread_bits(const uint8_t* bits, Py_ssize_t start, Py_ssize_t count, key_t* out) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(count):
        out[i] = bits[(start + i) >> 3] >> ((start + i) & 7) & 1


cdef void sort_floats(const uint32_t* bits, Py_ssize_t count, int32_t* out) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint32_t x
    for i in range(count):
        x = bits[i]
        x = 0x7fc00000 if (x & 0x7fffffff) > 0x7f800000 else x
        out[i] = <int32_t> (x ^ ((<uint32_t> 0 - (x >> 31)) & 0x7fffffff))


cdef void sort_doubles(const uint64_t* bits, Py_ssize_t count, int64_t* out) noexcept nogil:
    cdef Py_ssize_t i
    cdef uint64_t x, most = 0x7fffffffffffffff
    for i in range(count):
        x = bits[i]
        x = 0x7ff8000000000000 if (x & most) > <uint64_t> 0x7ff0000000000000 else x
        out[i] = <int64_t> (x ^ ((<uint64_t> 0 - (x >> 63)) & most))


cdef void widen_floats(const float* values, Py_ssize_t count, int64_t* out) noexcept nogil:
    cdef Py_ssize_t i
    cdef double value
    for i in range(count):
        value = values[i]
        sort_doubles(<const uint64_t*> &value, 1, out + i)


cdef void rescale(int64_t* values, Py_ssize_t count, int64_t factor, int64_t divisor) noexcept nogil:
    """Exact multiplication, then division towards minus infinity."""
    cdef Py_ssize_t i
    if factor != 1:
        for i in range(count):
            values[i] *= factor
    # Constant divisors: the compiler turns them into multiplications.
    if divisor == 1000:
        for i in range(count):
            values[i] = values[i] / 1000 - (values[i] % 1000 < 0)
    elif divisor == 1000000:
        for i in range(count):
            values[i] = values[i] / 1000000 - (values[i] % 1000000 < 0)
    elif divisor != 1:
        for i in range(count):
            values[i] = values[i] / divisor - (values[i] % divisor < 0)


cdef void clear_bits(uint64_t* words, Py_ssize_t start, Py_ssize_t count) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(start, start + count):
        words[i >> 6] &= ~(<uint64_t> 1 << (i & 63))


cdef void copy_bits(const uint8_t* bits, Py_ssize_t start, Py_ssize_t count, uint64_t* words,
                    Py_ssize_t at) noexcept nogil:
    """Clears in ``words`` (from bit ``at``) what is clear in ``bits`` (from bit ``start``), ``count`` bits of each."""
    cdef Py_ssize_t i = 0, left
    cdef uint64_t word
    cdef int shift, k
    while i < count and (at + i) & 63:
        if not bits[(start + i) >> 3] >> ((start + i) & 7) & 1:
            words[(at + i) >> 6] &= ~(<uint64_t> 1 << ((at + i) & 63))
        i += 1
    shift = (start + i) & 7
    while count - i >= 64 + 8:               # 9 bytes may be touched: all of them hold rows of this chunk
        word = 0
        for k in range(8):
            word |= <uint64_t> bits[((start + i) >> 3) + k] << (8 * k)
        if shift:
            word = word >> shift | <uint64_t> bits[((start + i) >> 3) + 8] << (64 - shift)
        words[(at + i) >> 6] &= word
        i += 64
    while i < count:
        if not bits[(start + i) >> 3] >> ((start + i) & 7) & 1:
            words[(at + i) >> 6] &= ~(<uint64_t> 1 << ((at + i) & 63))
        i += 1


cdef void drop_null_slots(int32_t* index, Py_ssize_t count, Py_ssize_t offset, const uint8_t* validity,
                          uint64_t* words, Py_ssize_t at) noexcept nogil:
    """Positions become slots of the leaf's buffers; rows without a value are -1 and not valid."""
    cdef Py_ssize_t i, slot
    for i in range(count):
        slot = offset + index[i]
        if index[i] < 0 or validity != NULL and not validity[slot >> 3] >> (slot & 7) & 1:
            index[i] = -1
            words[(at + i) >> 6] &= ~(<uint64_t> 1 << ((at + i) & 63))
        else:
            index[i] = <int32_t> slot

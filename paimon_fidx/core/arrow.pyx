"""Arrow's C data interface: batches from any library, through PyCapsules, and what their types mean to Paimon.

Nothing is linked or imported for it. A producer's structures are moved out of their capsules and released with the
handle that took them; single columns can be moved out of a batch, so that the rest of it is free at once.
"""
from cpython.pycapsule cimport PyCapsule_GetPointer
from libc.stdint cimport uint8_t
from libc.string cimport strcmp

cimport cython

from paimon_fidx.core.keys cimport BOOL, BYTES, FLOAT32, FLOAT64


@cython.final
cdef class SchemaHandle:
    def __cinit__(self):
        self.c.release = NULL

    def __dealloc__(self):
        if self.c.release != NULL:
            self.c.release(&self.c)

    @property
    def names(self):
        """Column names, in order."""
        return [text(self.c.children[i].name) for i in range(self.c.n_children)]

    def sql_types(self):
        """{name: Paimon SQL type} of the columns; None for one that no index accepts as it stands."""
        return {text(self.c.children[i].name): sql_type(self.c.children[i]) for i in range(self.c.n_children)}


@cython.final
cdef class ArrayHandle:
    def __cinit__(self):
        self.c.release = NULL

    def __dealloc__(self):
        if self.c.release != NULL:
            self.c.release(&self.c)

    @property
    def length(self):
        return self.row_count

    def take(self, Py_ssize_t i):
        """Moves column ``i`` out of this batch, so that the others can be freed before the index is built."""
        cdef ArrayHandle column = ArrayHandle()
        cdef ArrowArray* child
        if not 0 <= i < self.c.n_children or self.c.children[i].release == NULL:
            raise ValueError(f"the Arrow batch has no column {i} to take")
        child = self.c.children[i]
        if child.length - self.c.offset < self.c.length or child.length < 0 or child.offset < 0:
            raise ValueError(f"column {i} of an Arrow batch of {self.c.length} rows has only {child.length}")
        column.c = child[0]
        child.release = NULL       # moved: the producer's release of the batch skips it
        column.first = self.c.offset
        column.row_count = self.c.length
        return column


def read_batches(batches):
    """Yields (SchemaHandle, ArrayHandle) for every record batch.

    ``batches`` is anything with ``__arrow_c_stream__`` or ``__arrow_c_array__``, or an iterable of such. TypeError for
    anything else, ValueError for Arrow data that are not record batches or a producer that fails.
    """
    if hasattr(batches, "__arrow_c_stream__"):
        yield from read_stream(batches.__arrow_c_stream__())
    elif hasattr(batches, "__arrow_c_array__"):
        yield read_array(batches.__arrow_c_array__())
    elif hasattr(batches, "__iter__") and not isinstance(batches, (str, bytes, dict)):
        for batch in batches:
            if not hasattr(batch, "__arrow_c_stream__") and not hasattr(batch, "__arrow_c_array__"):
                raise TypeError(f"expected Arrow data (an object with __arrow_c_stream__ or __arrow_c_array__), "
                                f"found {type(batch).__name__}")
            yield from read_batches(batch)
    else:
        raise TypeError(f"expected Arrow data (an object with __arrow_c_stream__ or __arrow_c_array__, or an iterable "
                        f"of such), found {type(batches).__name__}")


def read_schema(source):
    """The SchemaHandle of something with ``__arrow_c_schema__``."""
    cdef SchemaHandle schema = SchemaHandle()
    move_schema(source.__arrow_c_schema__(), schema)
    return schema


cdef int move_schema(capsule, SchemaHandle schema) except -1:
    cdef ArrowSchema* given = <ArrowSchema*> PyCapsule_GetPointer(capsule, "arrow_schema")
    schema.c = given[0]
    given.release = NULL
    if strcmp(schema.c.format, b"+s"):
        raise ValueError(f"expected record batches, found a single Arrow array of format {text(schema.c.format)!r}")
    return 0


cdef object read_array(pair):
    cdef SchemaHandle schema = SchemaHandle()
    cdef ArrayHandle array = ArrayHandle()
    cdef ArrowArray* given
    schema_capsule, array_capsule = pair
    move_schema(schema_capsule, schema)
    given = <ArrowArray*> PyCapsule_GetPointer(array_capsule, "arrow_array")
    array.c = given[0]
    given.release = NULL
    settle_batch(schema, array)
    return schema, array


def read_stream(capsule):
    cdef ArrowArrayStream* stream = <ArrowArrayStream*> PyCapsule_GetPointer(capsule, "arrow_array_stream")
    cdef SchemaHandle schema = SchemaHandle()
    cdef ArrayHandle array
    cdef int failure
    failure = stream.get_schema(stream, &schema.c)
    if failure:
        schema.c.release = NULL
        raise stream_error(stream, failure)
    if strcmp(schema.c.format, b"+s"):
        raise ValueError(f"expected a stream of record batches, found Arrow arrays of format "
                         f"{text(schema.c.format)!r}")
    seen = False
    while True:
        array = ArrayHandle()
        with nogil:
            failure = stream.get_next(stream, &array.c)
        if failure:
            array.c.release = NULL
            raise stream_error(stream, failure)
        if array.c.release == NULL:
            break
        settle_batch(schema, array)
        seen = True
        yield schema, array
    if not seen:
        yield schema, None           # no batch at all still says what the columns are


cdef object stream_error(ArrowArrayStream* stream, int failure):
    cdef const char* reason = stream.get_last_error(stream)
    return ValueError(f"the Arrow stream failed: {text(reason) if reason != NULL else f'error {failure}'}")


cdef int settle_batch(SchemaHandle schema, ArrayHandle array) except -1:
    cdef const uint8_t* validity
    cdef Py_ssize_t i
    if array.c.length < 0 or array.c.offset < 0 or array.c.n_children != schema.c.n_children:
        raise ValueError(f"an Arrow batch with {array.c.n_children} columns, {array.c.length} rows at offset "
                         f"{array.c.offset} does not fit its schema of {schema.c.n_children} columns")
    if array.c.null_count != 0 and array.c.n_buffers > 0 and array.c.buffers[0] != NULL:
        validity = <const uint8_t*> array.c.buffers[0]
        for i in range(array.c.offset, array.c.offset + array.c.length):
            if not validity[i >> 3] >> (i & 7) & 1:
                raise ValueError("an Arrow batch has NULL rows; a table row is never NULL as a whole")
    array.row_count = array.c.length
    return 0


cdef str text(const char* at):
    return (<bytes> at).decode("utf-8", "replace") if at != NULL else ""


cdef object sql_type(ArrowSchema* field):
    """The Paimon SQL type that this Arrow type is written as, or None."""
    cdef str form = text(field.format)
    if field.dictionary != NULL:
        return sql_type(field.dictionary)
    if form == "+r" and field.n_children == 2:
        return sql_type(field.children[1])
    if form == "+m" and field.n_children == 1 and field.children[0].n_children == 2:
        key = sql_type(field.children[0].children[0])
        value = sql_type(field.children[0].children[1])
        return f"MAP<{key}, {value}>" if key and value else None
    plain = {"b": "BOOLEAN", "c": "TINYINT", "C": "SMALLINT", "s": "SMALLINT", "S": "INT", "i": "INT", "I": "BIGINT",
             "l": "BIGINT", "f": "FLOAT", "g": "DOUBLE", "u": "STRING", "U": "STRING", "vu": "STRING", "z": "BYTES",
             "Z": "BYTES", "vz": "BYTES", "tdD": "DATE", "tdm": "DATE", "tts": "TIME(0)", "ttm": "TIME(3)",
             "ttu": "TIME(6)", "ttn": "TIME(9)"}.get(form)
    if plain:
        return plain
    if form.startswith("w:"):
        return f"BINARY({form[2:]})" if form != "w:0" else "BYTES"
    if form.startswith("d:"):
        digits = form[2:].split(",")
        return f"DECIMAL({digits[0]}, {digits[1]})" if int(digits[0]) <= 38 else None
    if form[:3] in ("tss", "tsm", "tsu", "tsn"):
        precision = {"s": 0, "m": 3, "u": 6, "n": 9}[form[2]]
        return f"TIMESTAMP({precision})" + (" WITH LOCAL TIME ZONE" if form[4:] else "")
    return None


cdef object source_of(str form, int kind, str logical, int scale):
    """(Source, multiply, divide) that turns Arrow values of one format into keys, or None where they do not fit.

    ``logical`` says what the numbers mean: int, date, time, millis, micros, decimal, or "" for the other kinds.
    """
    ints = {"c": FROM_I8, "C": FROM_U8, "s": FROM_I16, "S": FROM_U16, "i": FROM_I32, "I": FROM_U32, "l": FROM_I64,
            "L": FROM_U64}
    if form == "n":
        return FROM_NULL, 1, 1
    if kind == BOOL:
        return (FROM_BOOL, 1, 1) if form == "b" else None
    if kind == FLOAT32:
        return (FROM_F32, 1, 1) if form == "f" else None
    if kind == FLOAT64:
        return {"f": (FROM_F32, 1, 1), "g": (FROM_F64, 1, 1)}.get(form)
    if kind == BYTES:
        known = ("u", "U", "vu") if logical == "string" else ("z", "Z", "vz")
        return (FROM_BYTES, 1, 1) if form in known or logical == "bytes" and form.startswith("w:") else None
    if logical == "int":
        return (ints[form], 1, 1) if form in ints else None
    if logical == "date":
        return {"tdD": (FROM_I32, 1, 1), "tdm": (FROM_I64, 1, 86_400_000)}.get(form)
    if logical == "time":
        return {"tts": (FROM_I32, 1000, 1), "ttm": (FROM_I32, 1, 1), "ttu": (FROM_I64, 1, 1000),
                "ttn": (FROM_I64, 1, 1_000_000)}.get(form)
    if logical in ("millis", "micros"):
        if form[:2] != "ts" or form[3:4] != ":":
            return None
        up = {"s": 1000, "m": 1, "u": 1, "n": 1}[form[2]] * (1000 if logical == "micros" and form[2] in "sm" else 1)
        down = {"s": 1, "m": 1, "u": 1000, "n": 1_000_000}[form[2]]
        if logical == "micros":
            down = max(down // 1000, 1)
        return FROM_I64, up, down
    if logical == "decimal" and form.startswith("d:"):
        digits = form[2:].split(",")
        if int(digits[1]) != scale:
            return None
        bits = digits[2] if len(digits) > 2 else "128"
        source = {"32": FROM_I32, "64": FROM_I64, "256": FROM_D256}.get(bits, FROM_D128)
        return source, 1, 1
    return None


cdef ArrowSchema* plain_schema(ArrowSchema* field) noexcept:
    while True:
        if field.dictionary != NULL:
            field = field.dictionary
        elif not strcmp(field.format, b"+r") and field.n_children == 2:
            field = field.children[1]
        else:
            return field


cdef str describe(ArrowSchema* field):
    if field.dictionary != NULL:
        return f"dictionary of {describe(field.dictionary)}"
    return repr(text(field.format))

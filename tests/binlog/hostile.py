"""Seeded damage to Milvus files, asked in child processes whose time and memory the kernel limits.

    python -m tests.binlog.hostile SEED COUNT [CORPUS_DIR]     # a longer hunt; failing inputs go to the corpus

A mutant is made from (seed, number) alone, so a child makes its own and a failure is named by two numbers.
"""
from __future__ import annotations

import functools
import hashlib
import io
import json
import os
import random
import signal
import subprocess
import sys
import traceback
from dataclasses import dataclass, field
from pathlib import Path

from tests.binlog import samples

ROOT = Path(__file__).resolve().parents[2]
CORPUS = Path(__file__).parent / "corpus"
SEED_MAX_LEN = 3000  # bytes of a sample that is worth mutating
MEMORY_ROOM = 1 << 30  # bytes of address space above what the child has mapped when it starts
POOL_MOST = 64 << 20  # bytes that Arrow may have allocated at any time: the inputs have 3 KB
SECONDS_PER_INPUT = 20  # a hang detector, not a speed test
BATCH = 2000  # inputs per child

NUMBERS = (0, 1, 2, 3, 4, 16, 17, 33, 34, 81, 85, 100, 127, 128, 255, 256,
           0x7fffffff, 0x80000000, 0xfffffff0, 0xffffffff)
DESCRIPTOR_FIELDS = ((0, 4), (12, 1), (13, 4), (17, 4), (21, 8), (45, 8), (49, 8), (65, 8), (69, 4), (73, 8), (77, 4),
                     (81, 4))
EVENT_FIELDS = ((0, 8), (8, 1), (9, 4), (13, 4), (17, 8), (25, 8))


@functools.cache
def seeds() -> tuple[tuple[str, str, bytes], ...]:
    """(name, kind, bytes): small samples of every kind, and files whose cells reach our own decoders as they are."""
    found = []
    for entry in samples.entries():
        kind = entry["container"] if entry.get("container") in ("json", "bm25") else "binlog"
        if len(samples.data(entry)) <= SEED_MAX_LEN:
            found.append((entry["file"], kind, samples.data(entry)))
    return tuple(found)


def mutant(seed: int, number: int) -> tuple[str, str, bytes]:
    """(label, kind, bytes)."""
    chance = random.Random(seed * 1_000_003 + number)
    name, kind, data = chance.choice(seeds())
    if kind == "binlog":
        how = chance.choice([lie, lie, flip, flip, footer, cut, splice, grow, payload, payload, cells, cells])
    else:
        how = chance.choice([flip, flip, cut, splice, grow, number_in_text])
    data = how(data, chance)
    if chance.random() < 0.2:
        data = flip(data, chance)
    return f"{how.__name__} of {name}", kind, data


def put(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new):]


def flip(data: bytes, chance: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(chance.choice((1, 1, 1, 2, 8))):
        if changed:
            at = chance.randrange(len(changed))
            changed[at] = chance.choice((changed[at] ^ 1 << chance.randrange(8), chance.randrange(256), 0, 255))
    return bytes(changed)


def events(data: bytes) -> list[tuple[int, int]]:
    """(start, end) of the data events of a whole file."""
    at, found = 4 + int.from_bytes(data[13:17], "little"), []
    while at + 33 <= len(data):
        length = int.from_bytes(data[at + 9:at + 13], "little")
        if length < 33:
            break
        found.append((at, min(len(data), at + length)))
        at += length
    return found


def lie(data: bytes, chance: random.Random) -> bytes:
    """One field of a header says something else."""
    fields = list(DESCRIPTOR_FIELDS)
    for start, _ in events(data)[:3]:
        fields += [(start + at, width) for at, width in EVENT_FIELDS]
    at, width = chance.choice(fields)
    if at + width > len(data):
        return data
    near = int.from_bytes(data[at:at + width], "little") + chance.choice((-1, 1, 4, -4, 100))
    value = chance.choice((*NUMBERS, near, len(data), len(data) - at, chance.getrandbits(8 * width)))
    return put(data, at, (value % (1 << 8 * width)).to_bytes(width, "little"))


def cut(data: bytes, chance: random.Random) -> bytes:
    return data[:chance.randrange(len(data) + 1)]


def grow(data: bytes, chance: random.Random) -> bytes:
    return data + chance.choice((bytes(33), bytes(1), data, data[4:], data[-chance.randrange(1, 200):]))


def splice(data: bytes, chance: random.Random) -> bytes:
    other = chance.choice(seeds())[2]
    at = chance.randrange(len(data) + 1)
    return data[:at] + other[chance.randrange(len(other) + 1):]


def number_in_text(data: bytes, chance: random.Random) -> bytes:
    """A number of JSON becomes another value."""
    places = [at for at in range(1, len(data)) if data[at - 1:at] == b":"]
    if not places:
        return data
    at = chance.choice(places)
    end = at
    while end < len(data) and data[end:end + 1] not in (b",", b"}", b"]"):
        end += 1
    new = chance.choice((b"0", b"-1", b"1e400", b"NaN", b"null", b'"x"', b"[" * 5000, b"9" * 5000, b"2", b"{}"))
    return data[:at] + new + data[end:]


def resized(data: bytes, start: int, end: int, payload: bytes) -> bytes:
    """The event with another payload, its lengths set right, so that the payload is looked at."""
    head = bytearray(data[start:start + 33])
    head[9:13] = (33 + len(payload)).to_bytes(4, "little")
    head[13:17] = b"\xff" * 4
    return data[:start] + bytes(head) + payload + data[end:]


def payload(data: bytes, chance: random.Random) -> bytes:
    """Damage inside the Parquet file only, of any length."""
    found = events(data)
    if not found:
        return data
    start, end = chance.choice(found)
    return resized(data, start, end, chance.choice((flip, flip, cut, splice, grow))(data[start + 33:end], chance))


def footer(data: bytes, chance: random.Random) -> bytes:
    """Damage to the Parquet footer, where all counts, offsets and types stand."""
    found = events(data)
    if not found:
        return data
    start, end = chance.choice(found)
    length = int.from_bytes(data[end - 8:end - 4], "little")
    at = max(start + 33, end - 8 - length)
    changed = flip(data[at:end], chance)
    return data[:at] + changed + data[end:]


OTHER_CELLS = [b"abc", bytes(4), b'{"pk":1,"ts":2,"pkType":5}', b"1,2", b"\xff\xfe", b""]
TYPES = (20, 21, 22, 22, 22, 23, 100, 101, 102, 103, 104, 104, 105)


def cells(data: bytes, chance: random.Random) -> bytes:
    """A well-formed file of damaged cells: arrays, sparse vectors, nullable vectors, text, deletes."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    good = {
        22: [b"", b"\x12\x05\n\x03\x01\x02\x03", b"*\n\n\x08" + bytes(8), b"2\x06\n\x01a\n\x01b", b"\n\x02\x08\x01",
             b"\x1a\x00"],
        104: [b"", bytes(8), bytes(range(16))],
    }
    code = chance.choice(TYPES)
    rows = []
    for _ in range(chance.randrange(6)):
        cell = chance.choice(good.get(code, OTHER_CELLS))
        rows.append(None if chance.random() < 0.2 else flip(cell, chance) if chance.random() < 0.5 else cell)
    dim = chance.choice((b"1", b"2", b"4", b"0", b"-1", b"99999999", b"x", b"16"))
    metadata = {b"dim": dim} if chance.random() < 0.7 else None
    text = chance.random() < 0.3
    field_ = pa.field("val", pa.string() if text else pa.binary(), metadata=metadata)
    column = pa.array(rows, pa.binary())
    if text:
        column = pa.Array.from_buffers(pa.string(), len(column), column.buffers(), column.null_count)
    file = io.BytesIO()
    pq.write_table(pa.table([column], schema=pa.schema([field_])), file, compression="none")
    found = events(data)
    if not found:
        return data
    start, end = chance.choice(found)
    return put(resized(data, start, end, file.getvalue()), 69, code.to_bytes(4, "little"))


# --- asking

def ask(kind: str, data: bytes, shape: int) -> tuple[int, int]:
    """Everything the API can be asked: (answers, refusals). Anything else is raised."""
    import pyarrow as pa

    import paimon_fidx.binlog as bl
    from paimon_fidx.errors import FileIndexError
    from tests.hostile.ask import ShortFile
    from tests.hostile.guard import guarded

    counts = [0, 0]

    def answer(question):
        try:
            result = question()
        except FileIndexError as error:
            assert str(error)
            counts[1] += 1
            return None
        counts[0] += 1
        return result

    source = (data, guarded(data, at_end=len(data) % 4 != 0), io.BytesIO(data), ShortFile(data))[shape % 4]
    if kind == "json":
        stats = answer(lambda: bl.open_pk_stats(source))
        if stats is not None:
            for key in (5, "a"):
                try:
                    assert stats.may_contain(key) in (True, False)
                except TypeError as error:
                    assert "primary key" in str(error)
    elif kind == "bm25":
        answer(lambda: bl.open_bm25_stats(source))
    else:
        binlog = answer(lambda: bl.open_binlog(source))
        if binlog is not None:
            for part in ("descriptor", "events", "kind"):
                answer(lambda: getattr(binlog, part))
            repr(binlog)
            table = answer(binlog.to_arrow)
            if table is not None:
                table.validate(full=True)
                if table.num_rows < 10_000:
                    table.to_pylist()
            answer(lambda: list(binlog.to_batches(3)))
            try:
                answer(binlog.index_bytes)
            except ValueError as error:
                assert "no index file" in str(error), error
    peak = pa.default_memory_pool().max_memory()
    assert peak <= POOL_MOST, f"Arrow allocated {peak} bytes"
    return counts[0], counts[1]


def child(seed: int, first: int, count: int) -> None:
    """Asks ``count`` mutants; a line each before it, so that a crash is pinned to its number."""
    import resource

    import pyarrow.parquet  # noqa: F401  mapped before the limit is set

    if sys.platform == "linux":
        mapped = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY_ROOM, resource.RLIM_INFINITY))
    answers = refusals = 0
    for number in range(first, first + count):
        os.write(1, f"> {number}\n".encode())
        label, kind, data = mutant(seed, number)
        signal.alarm(SECONDS_PER_INPUT)
        try:
            got = ask(kind, data, number)
        except BaseException as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            text = f"{type(error).__name__}: {error}"[:300]
            os.write(1, f"! {number} {json.dumps([label, text, str(place)[:160]])}\n".encode())
            if "Arrow allocated" in text:  # the peak stays: a fresh child goes on after it
                os._exit(7)
        else:
            answers += got[0]
            refusals += got[1]
    signal.alarm(0)
    os.write(1, f"= {answers} {refusals}\n".encode())


@dataclass
class Report:
    asked: int = 0
    answers: int = 0
    refusals: int = 0
    failures: list[tuple[int, str]] = field(default_factory=list)  # number, what


def run(seed: int, count: int) -> Report:
    """Asks the mutants 0 .. count - 1 of a seed. A crashed child loses only the input that crashed it."""
    report, at = Report(), 0
    while at < count:
        at += _one_child(seed, at, min(BATCH, count - at), report)
    return report


def _one_child(seed: int, first: int, count: int, report: Report) -> int:
    import paimon_fidx

    paths = [str(Path(paimon_fidx.__file__).resolve().parents[1]), str(ROOT)]
    code = f"import sys; sys.path[:0] = {paths[:1]!r}; sys.path.append({paths[1]!r}); " \
           f"from tests.binlog.hostile import child; child({seed}, {first}, {count})"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True)
    current = None
    for line in ended.stdout.decode().splitlines():
        sign, _, rest = line.partition(" ")
        if sign == ">":
            current = int(rest)
            report.asked += 1
        elif sign == "!":
            report.failures.append((int(rest.split()[0]), rest))
        else:
            answers, refusals = map(int, rest.split())
            report.answers += answers
            report.refusals += refusals
            return count
    if current is None:
        raise RuntimeError(f"the child did not start: {ended.stderr.decode()[-2000:]}")
    if ended.returncode != 7:
        how = signal.Signals(-ended.returncode).name if ended.returncode < 0 else f"exit {ended.returncode}"
        report.failures.append((current, f"{mutant(seed, current)[0]}: {how} {ended.stderr.decode()[-500:]}"))
    return current + 1 - first


def keep(seed: int, number: int, folder: Path = CORPUS) -> Path:
    """Puts a mutant into the corpus, forever."""
    _, kind, data = mutant(seed, number)
    folder.mkdir(exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.{kind}"
    path.write_bytes(data)
    return path


if __name__ == "__main__":
    found = run(int(sys.argv[1]), int(sys.argv[2]))
    print(f"{found.asked} inputs, {found.answers} answers, {found.refusals} refusals, {len(found.failures)} failures")
    for number, what in found.failures:
        print(f"  {number}: {what}")
        if len(sys.argv) > 3:
            keep(int(sys.argv[1]), number, Path(sys.argv[3]))

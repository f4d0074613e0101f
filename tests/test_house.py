"""The house rules that a machine can check: imports point down only, and stubs say what the extension has.

    spark, cli, pypaimon -> binlog -> table -> index -> build, evaluate -> literals, sql -> predicate, result, types,
    options -> core formats -> core keys, hashing, roaring, ... -> core cursor;  everyone -> errors
"""
from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "paimon_fidx"

# From the ground up. A room imports rooms of lower floors only; modules inside one room may import each other.
FLOORS = [
    {"errors"},
    {"core"},  # the package marker
    {"core.cursor", "core.buffers"},
    {"core.keys", "core.hashing", "core.roaring"},
    {"core.comparison", "core.planes"},
    {"core.slices"},
    {"core.ranking"},
    {"core.arrow", "core.sorting"},
    {"core.columns"},
    {"core.texts"},
    {"core.codes"},
    {"core.container", "core.bloom_filter", "core.bitmap", "core.bsi", "core.range_bitmap"},
    {"core.pruning"},
    {"values"},
    {"temporal"},
    {"types", "predicate", "result", "options"},
    {"points"},
    {"literals", "sql"},
    {"evaluate", "build"},
    {"index"},
    {"table"},
    {"binlog"},
    {"spark", "cli", "pypaimon"},
    {""},  # paimon_fidx/__init__.py: the public names
]
FLOOR_OF = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
SOURCES = sorted(path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".pyx", ".pxd", ".pyi"))
STATEMENT = re.compile(r"^\s*(?:from\s+([\w.]+)\s+c?import\s+\(?([^#\n]*)|c?import\s+([^#\n]*))", re.MULTILINE)
UPWARD_ONLY_LAZILY = {"cli": {"spark"}}  # `paimon-fidx query --spark` calls the job, inside the command only


def module_of(path: Path) -> str:
    """Dotted name below the package; "" is the package itself."""
    return ".".join(part for part in path.relative_to(PACKAGE).with_suffix("").parts if part != "__init__")


def room_of(module: str) -> str:
    """The room a module belongs to: core modules are rooms of their own, elsewhere the first name."""
    parts = module.split(".")
    return ".".join(parts[:2]) if parts[0] == "core" else parts[0]


def exists(module: str) -> bool:
    base = PACKAGE.joinpath(*module.split("."))
    return base.is_dir() or any(base.with_suffix(suffix).exists() for suffix in (".py", ".pyx", ".pxd"))


def imports_of(path: Path) -> set[str]:
    """Modules below the package that a source imports, anywhere in it."""
    text, found = path.read_text(), set()
    package = module_of(path) if path.stem == "__init__" else module_of(path).rpartition(".")[0]
    if path.suffix in (".py", ".pyi"):
        statements = []
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.ImportFrom):
                base = node.module or ""
                if node.level:
                    up = package.split(".")[: len(package.split(".")) - node.level + 1] if package else []
                    base = ".".join(["paimon_fidx", *filter(None, up), *filter(None, [node.module])])
                statements.append((base, [alias.name for alias in node.names]))
            elif isinstance(node, ast.Import):
                statements += [(alias.name, []) for alias in node.names]
    else:
        statements = []
        for base, names, plain in STATEMENT.findall(text):
            if base:
                statements.append((base, [name.split()[0] for name in names.strip(" ()\\").split(",") if name.split()]))
            else:
                statements += [(name.split()[0], []) for name in plain.split(",") if name.split()]
    for base, names in statements:
        if base == "paimon_fidx" or base.startswith("paimon_fidx."):
            below = base.removeprefix("paimon_fidx").removeprefix(".")
            submodules = {f"{below}.{name}".strip(".") for name in names if exists(f"{below}.{name}".strip("."))}
            found |= submodules if submodules and len(submodules) == len(names) else submodules | {below}
    return found


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_point_down(path):
    room = room_of(module_of(path))
    assert room in FLOOR_OF, f"{path.name}: give the room {room!r} a floor in FLOORS"
    for imported in imports_of(path):
        other = room_of(imported)
        if other == room or other in UPWARD_ONLY_LAZILY.get(room, ()):
            continue
        assert other in FLOOR_OF, f"{path.name} imports {imported!r}, which has no floor"
        assert FLOOR_OF[other] < FLOOR_OF[room], f"{room or 'paimon_fidx'} imports {imported or 'paimon_fidx'}: upward"


def test_the_check_sees_upward_imports(tmp_path, monkeypatch):
    """The check is checked: every way to write an import is seen."""
    monkeypatch.setattr(f"{__name__}.PACKAGE", tmp_path)
    for folder in ("", "core", "table"):
        (tmp_path / folder).mkdir(exist_ok=True)
        (tmp_path / folder / "__init__.py").touch()
    (tmp_path / "index.py").touch()
    (tmp_path / "core" / "bsi.pyx").touch()
    for name, text in {
        "core/keys.pyx": "from paimon_fidx.core.bsi cimport Reader\n",
        "core/cursor.pyx": "cimport paimon_fidx.core.bsi as b\n",
        "table/scan.py": "def f():\n    from ..index import open_index\n",
        "types.py": "from paimon_fidx import index\n",
        "result.py": "import paimon_fidx.index\n",
        "predicate.py": "from . import index\n",
    }.items():
        path = tmp_path / name
        path.write_text(text)
        assert imports_of(path) == {"core.bsi" if "bsi" in text else "index"}, name


def test_only_core_and_binlog_are_compiled():
    outside = [path for path in SOURCES if path.suffix == ".pyx" and module_of(path).split(".")[0] not in ("core", "binlog")]
    assert not outside


# --- stubs


def public(names) -> set[str]:
    return {name for name in names if not name.startswith("_")}


def stub_names(path: Path) -> dict[str, set[str]]:
    """Top-level functions and classes of a stub; a class with its methods and attributes."""
    found: dict[str, set[str]] = {}
    for node in ast.parse(path.read_text()).body:
        if isinstance(node, ast.ClassDef):
            members = {each.name for each in node.body if isinstance(each, ast.FunctionDef)}
            members |= {each.target.id for each in node.body if isinstance(each, ast.AnnAssign)}
            found[node.name] = public(members)
        elif isinstance(node, ast.FunctionDef):
            found[node.name] = set()
    return {name: members for name, members in found.items() if not name.startswith("_")}


def runtime_names(module) -> dict[str, set[str]]:
    """What the extension module defines itself and shows to Python."""
    found: dict[str, set[str]] = {}
    for name in public(vars(module)):
        value = getattr(module, name)
        if isinstance(value, type) and value.__module__ == module.__name__:
            found[name] = public(vars(value))
        elif type(value).__name__ in ("builtin_function_or_method", "cython_function_or_method") and \
                getattr(value, "__module__", None) == module.__name__:
            found[name] = set()
    return found


@pytest.mark.parametrize("path", [path for path in SOURCES if path.suffix == ".pyx"], ids=lambda path: path.stem)
def test_stubs_agree_with_the_extension(path):
    names = runtime_names(importlib.import_module(f"paimon_fidx.{module_of(path)}"))
    stub = path.with_suffix(".pyi")
    if names:
        assert stub.exists(), f"{stub.name} is missing; the module shows {sorted(names)}"
        assert stub_names(stub) == names

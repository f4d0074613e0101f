"""What is tested is what is shipped: the installed package, and the sdist that it can be built from."""
import importlib.metadata
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

import paimon_fidx

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / ".ci"))
import check_dist  # noqa: E402
import environment  # noqa: E402


def wheel_names():
    """Files of the installed distribution, as its wheel listed them; scripts and byte code apart."""
    files = [str(name) for name in importlib.metadata.files("paimon-fidx")]
    return [name for name in files if not name.startswith("..") and not name.endswith(".pyc")]


def test_make_test_imports_the_installed_package():
    where = pathlib.Path(paimon_fidx.__file__).resolve()
    if os.environ.get("PAIMON_FIDX_INSTALLED"):
        assert where.is_relative_to(pathlib.Path(sys.prefix).resolve()), f"{where} is not the installed package"
    else:
        assert where.parent.name == "paimon_fidx"


def test_sdist_holds_the_sources_and_no_generated_code(tmp_path):
    for name in environment.package_files():
        (tmp_path / "src" / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, tmp_path / "src" / name)
    build = "import setuptools.build_meta as backend; backend.build_sdist('..')"
    subprocess.run([sys.executable, "-c", build], cwd=tmp_path / "src", check=True, capture_output=True)
    with tarfile.open(next(tmp_path.glob("*.tar.gz"))) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert check_dist.complaints(names, [], [name for name in environment.package_files() if name[-4:] != ".pyx"]) == []
    assert {name for name in environment.package_files() if name.endswith(".pyx")} <= names


def test_wheel_holds_compiled_modules_and_nothing_foreign():
    if os.environ.get("PAIMON_FIDX_INSTALLED"):
        assert check_dist.complaints(environment.package_files(), wheel_names(), environment.package_files()) == []


def test_complaints_name_each_fault():
    sources = ["setup.py", "paimon_fidx/core/a.pyx"]
    assert check_dist.complaints(["setup.py", "paimon_fidx/core/a.c"], ["paimon_fidx/core/a.c", "tests/t.py"], sources) == [
        "sdist lacks paimon_fidx/core/a.pyx",
        "sdist holds paimon_fidx/core/a.c",
        "wheel holds paimon_fidx/core/a.c",
        "wheel holds tests/t.py",
        "wheel lacks the compiled paimon_fidx/core/a.pyx",
    ]


def test_too_old_java_and_missing_java_are_named(tmp_path, monkeypatch):
    old = tmp_path / "bin" / "java"
    old.parent.mkdir()
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o755)
    script = [sys.executable, str(ROOT / ".ci" / "environment.py"), str(tmp_path / "venv"), "test", "--java"]
    for home, said in ((tmp_path, "is version 8"), (tmp_path / "none", "no java was found in JAVA_HOME=")):
        monkeypatch.setenv("JAVA_HOME", str(home))
        answer = subprocess.run(script, capture_output=True, text=True)
        assert answer.returncode == 1 and said in answer.stderr and "JDK 17" in answer.stderr
    assert not (tmp_path / "venv").exists()


def test_too_old_python_is_named(monkeypatch, tmp_path):
    monkeypatch.setattr(environment.sys, "version_info", (3, 9, 1))
    monkeypatch.setenv("PATH", str(tmp_path))
    try:
        environment.find_python()
    except SystemExit as refusal:
        assert "Python 3.10 to 3.13" in str(refusal) and "is Python 3.9" in str(refusal)
    else:
        raise AssertionError("no refusal")

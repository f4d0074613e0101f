"""Builds the sdist, the wheel from the sdist, and looks into both.

usage: check_dist.py FOLDER      (run by ``make dist``; exit 1 names what is wrong)
"""
import pathlib
import shutil
import subprocess
import sys
import tarfile
import zipfile

from environment import ROOT, package_files


def complaints(sdist_names, wheel_names, sources):
    """What is wrong with the two archives, given the names in them and the files that the package is built from."""
    missing = [f"sdist lacks {name}" for name in sources if name not in sdist_names]
    built = [f"sdist holds {name}" for name in sdist_names if name.endswith((".c", ".cpp", ".so"))]
    foreign = [
        f"wheel holds {name}"
        for name in wheel_names
        if name.endswith((".c", ".cpp", ".pyx")) or not name.startswith(("paimon_fidx/", "paimon_fidx-"))
    ]
    modules = {name.split(".")[0] for name in wheel_names if name.endswith((".so", ".pyd"))}
    uncompiled = [
        f"wheel lacks the compiled {name}" for name in sources if name.endswith(".pyx") and name[:-4] not in modules
    ]
    return missing + built + foreign + uncompiled


def main(folder):
    shutil.rmtree(folder, ignore_errors=True)
    subprocess.run([sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, stdout=subprocess.DEVNULL)
    (sdist,), (wheel,) = pathlib.Path(folder).glob("*.tar.gz"), pathlib.Path(folder).glob("*.whl")
    with tarfile.open(sdist) as archive:
        sdist_names = {name.partition("/")[2] for name in archive.getnames()}
    with zipfile.ZipFile(wheel) as archive:
        wheel_names = archive.namelist()
    wrong = complaints(sdist_names, wheel_names, package_files())
    print("\n".join(wrong or [f"{path}  {path.stat().st_size:,} bytes" for path in (sdist, wheel)]))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

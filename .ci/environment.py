"""Makes the virtual environment that ``make test`` and ``make demo`` use, and installs the checkout in it.

usage: environment.py VENV EXTRAS [--java] [--pin REQUIREMENT ...]

The package is installed as a user would install it: a copy of its sources is built into a wheel, so nothing is
written into the checkout and nothing is imported from it. A second run with unchanged sources does nothing.
Any Python 3 may run this file; it looks for one that suits (3.10 to 3.13, the range of pypaimon) and says so
when there is none. ``--java`` also asks for the JDK that Spark needs.
"""
import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys

OLDEST, NEWEST, OLDEST_JAVA = (3, 10), (3, 13), 17
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD_FILES = ("pyproject.toml", "setup.py", "MANIFEST.in", "README.md", "LICENSE")
SOURCES = (".py", ".pyi", ".pyx", ".pxd", ".h", ".typed")
VERSION = "import sys; print(*sys.version_info[:2])"


def fail(message):
    """Ends the run with one readable paragraph."""
    sys.exit("\n*** {}\n".format(message))


def version_of(python):
    """(major, minor) of an interpreter, None when it does not run (a pyenv shim of a version not chosen, say)."""
    try:
        answer = subprocess.run([python, "-c", VERSION], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return tuple(int(part) for part in answer.stdout.split())


def find_python():
    """Path of the first Python that suits: the one running this file, then python3.13 down to python3.10."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return sys.executable
    for minor in range(NEWEST[1], OLDEST[1] - 1, -1):
        path = shutil.which("python3.{}".format(minor))
        if path and version_of(path) == (3, minor):
            return path
    fail("paimon-fidx's tests and demo need Python 3.10 to 3.13 (pypaimon has no release for later ones yet), but\n"
         "    {} is Python {}.{} and no python3.10 ... python3.13 was found on the PATH.\n"
         "    Install one, or name it: make PYTHON=/path/to/python".format(sys.executable, *sys.version_info[:2]))


def check_java():
    """Spark runs on the JVM: a JDK (or JRE) of version 17 or later, from JAVA_HOME or the PATH."""
    home = os.environ.get("JAVA_HOME")
    java = os.path.join(home, "bin", "java") if home else shutil.which("java")
    how = "Install one (for example: apt install openjdk-17-jdk-headless, or brew install openjdk@17)\n" \
          "    and put it on the PATH or in JAVA_HOME."
    if not java or not os.path.exists(java):
        fail("Spark needs a JDK 17 or later, and no java was found {}. {}".format(
            "in JAVA_HOME=" + home if home else "on the PATH", how))
    answer = subprocess.run([java, "-version"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    text = answer.stdout.decode("utf-8", "replace")
    found = re.search(r'version "(?:1\.)?(\d+)', text)
    if answer.returncode or not found:
        fail("Spark needs a JDK 17 or later, but {} -version fails: {}".format(java, text.strip() or "no output"))
    if int(found.group(1)) < OLDEST_JAVA:
        fail("Spark needs a JDK 17 or later, but {} is version {}. {}".format(java, found.group(1), how))


def check_compiler():
    """The extension is compiled here: a wheel from the package index would not be this checkout."""
    if not any(shutil.which(name) for name in filter(None, (os.environ.get("CC", "").split(" ")[0], "cc", "gcc", "clang"))):
        fail("The Cython extension needs a C compiler, and none of cc, gcc, clang was found on the PATH.\n"
             "    For example: apt install gcc python3-dev, or xcode-select --install")


def package_files():
    """Paths, relative to the checkout, of everything that the wheel is built from."""
    files = [name for name in BUILD_FILES if os.path.exists(os.path.join(ROOT, name))]
    for folder, folders, names in os.walk(os.path.join(ROOT, "paimon_fidx")):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        files += [os.path.relpath(os.path.join(folder, name), ROOT) for name in sorted(names) if name.endswith(SOURCES)]
    return files


def digest(files, words):
    """One hash over the sources and over what else decides how the environment comes out."""
    total = hashlib.sha256(repr(words).encode())
    for name in files:
        with open(os.path.join(ROOT, name), "rb") as file:
            total.update(name.encode() + b"\0" + hashlib.sha256(file.read()).digest())
    return total.hexdigest()


def run(*command):
    print("+ " + " ".join(command), flush=True)
    status = subprocess.call(command)
    if status:
        fail("this command failed with status {}: {}".format(status, " ".join(command)))


def make(venv, extras, pins):
    """Brings ``venv`` up to date with the checkout."""
    python = find_python()
    files = package_files()
    wanted = digest(files, [os.path.realpath(python), version_of(python), extras, pins])
    stamp = os.path.join(venv, "paimon-fidx.digest")
    if os.path.exists(stamp):
        with open(stamp) as file:
            if file.read() == wanted:
                return
        os.remove(stamp)
    check_compiler()
    inside = os.path.join(venv, "bin", "python")
    if version_of(inside) != version_of(python):
        shutil.rmtree(venv, ignore_errors=True)
        print("+ {} -m venv {}".format(python, venv), flush=True)
        if subprocess.call([python, "-m", "venv", venv]):
            shutil.rmtree(venv, ignore_errors=True)
            fail("{} cannot make a virtual environment. On Debian and Ubuntu: apt install python3-venv python3-dev".format(
                python))
    copy = os.path.join(venv, "src")
    shutil.rmtree(copy, ignore_errors=True)
    for name in files:
        target = os.path.join(copy, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(os.path.join(ROOT, name), target)
    pip = [inside, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    # a local folder is always built and installed anew, also when the version did not change
    run(*(pip + ["{}[{}]".format(copy, extras)] + pins))
    shutil.rmtree(copy)
    with open(stamp, "w") as file:
        file.write(wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("venv", metavar="VENV")
    parser.add_argument("extras", metavar="EXTRAS")
    parser.add_argument("--java", action="store_true")
    parser.add_argument("--pin", action="append", default=[], metavar="REQUIREMENT")
    options = parser.parse_args()
    if options.java:
        check_java()
    make(os.path.abspath(options.venv), options.extras, options.pin)


if __name__ == "__main__":
    main()

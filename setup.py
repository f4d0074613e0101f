"""Builds the Cython core. Everything else about the package stands in pyproject.toml."""
import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup

DIRECTIVES = {
    "language_level": 3,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
    "initializedcheck": False,
}
SANITIZE = os.environ.get("PAIMON_FIDX_SANITIZE")  # e.g. "address,undefined": the hostile suite runs on such a build
compile_args, link_args = ["-O3", "-g0"], []
if sys.platform == "win32":
    compile_args = ["/O2"]
elif SANITIZE:
    DIRECTIVES["boundscheck"] = True
    compile_args = ["-O1", "-g", f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer"]
    link_args = [f"-fsanitize={SANITIZE}"]

extensions = [
    Extension(
        ".".join(source.with_suffix("").parts),
        [str(source)],
        extra_compile_args=compile_args,
        extra_link_args=link_args,
        depends=[str(h) for h in sorted(Path("paimon_fidx/core").glob("*.h"))],
    )
    for source in sorted(Path("paimon_fidx").rglob("*.pyx"))
]

setup(
    ext_modules=cythonize(extensions, compiler_directives=DIRECTIVES, nthreads=0, quiet=True),
    options={"build_ext": {"parallel": os.cpu_count()}},
)

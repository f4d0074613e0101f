"""The live Java Paimon of the session. Without a JDK or Maven these tests are skipped; under CI that is a failure."""
from __future__ import annotations

import os

import pytest

from tests.interop.java import Java, missing


@pytest.fixture(scope="session")
def java():
    reason = missing()
    if reason:
        if os.environ.get("CI"):
            pytest.fail(f"the interop tests must run in CI: {reason}")
        pytest.skip(reason)
    with Java() as server:
        yield server

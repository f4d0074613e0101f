"""Shared by all tests: the table that ends a run, saying how often an index answers exactly."""
from __future__ import annotations

import os
from collections import Counter

import pytest

SHARES = pytest.StashKey[Counter]()
FACTS = pytest.StashKey[Counter]()


def pytest_configure(config):
    config.stash[SHARES] = Counter()
    config.stash[FACTS] = Counter()


@pytest.fixture
def shares(request) -> Counter:
    """Counts (index, operator, "exact" | "superset" | "boundary") leaf predicates, printed after the run."""
    return request.config.stash[SHARES]


@pytest.fixture
def facts(request) -> Counter:
    """Counts of what was checked, by a few words each, printed after the run."""
    return request.config.stash[FACTS]


# A test that did not run has not passed: in CI any other reason to skip fails the run.
MAY_SKIP_IN_CI = ("are not beside this clone", "bench/instructions.py")


def _skips_that_count(reporter) -> list[str]:
    skipped = reporter.stats.get("skipped", ()) if reporter is not None and os.environ.get("CI") else ()
    texts = [f"{report.nodeid}: {report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr}"
             for report in skipped]
    return [text for text in texts if not any(reason in text for reason in MAY_SKIP_IN_CI)]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session):
    if _skips_that_count(session.config.pluginmanager.get_plugin("terminalreporter")) and session.exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter, config):
    for text in _skips_that_count(terminalreporter):
        terminalreporter.write_line(f"SKIPPED IN CI, which fails the run: {text}", red=True)
    shares = config.stash[SHARES]
    if shares:
        terminalreporter.section("leaf predicates answered exactly")
        for index in sorted({index for index, _, _ in shares}):
            for op in sorted({op for each, op, _ in shares if each == index}):
                exact, superset, boundary = (shares[index, op, kind] for kind in ("exact", "superset", "boundary"))
                note = f"   ({boundary} nanosecond boundaries apart)" if boundary else ""
                share = 100 * exact / max(1, exact + superset)
                terminalreporter.write_line(f"{index:13} {op:17} {share:6.2f} % of {exact + superset:5}{note}")
    if config.stash[FACTS]:
        terminalreporter.section("checked")
        for words, count in sorted(config.stash[FACTS].items()):
            terminalreporter.write_line(f"{count:7} {words}")

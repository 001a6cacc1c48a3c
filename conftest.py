# SPDX-License-Identifier: Apache-2.0
"""Random tests repeat exactly in `make test`; `make fuzz` draws new examples in every run. With `CI` in the environment, as `make
test` sets it, a skipped test is a failed test: what was not run has not passed. Simulated devices are hostile builds
(shell/sim/build.py): they check assertions, and begin with random bits by one of three seeds in each test; with SLUICE_SIM_SEED=n,
all of them by seed n."""

from __future__ import annotations

import os
import zlib
from collections.abc import Generator
from typing import Any

import pytest
from hypothesis import settings

from shell.sim.build import SMALL

settings.register_profile("repeatable", derandomize=True, database=None)
if "SLUICE_FUZZ_MINUTES" not in os.environ:
    settings.load_profile("repeatable")

# Where a test does not say how large the tables are, they are small: so most tests share a build.
os.environ.setdefault("SLUICE_SIM_OPTIONS", ",".join(f"{name}={size}" for name, size in {**SMALL, "hostile": 1}.items()))
SIM_SEED, SIM_SEEDS = os.environ.get("SLUICE_SIM_SEED"), 3

MAY_SKIP = {  # anywhere, and why
    "bench/ovs/test_ovs.py::test_offload_takes_work_from_the_poll_thread": "some machines let not even root count with perf",
}


def _counts(report: pytest.TestReport | pytest.CollectReport) -> bool:
    """Whether a skip is to fail here."""
    is_skip = report.skipped and not hasattr(report, "wasxfail")
    return is_skip and os.environ.get("CI", "").lower() not in ("", "0", "false") and report.nodeid not in MAY_SKIP


def _failed(report: Any) -> Any:
    """The report, as a failure where it is of a skip that counts."""
    if _counts(report):
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else str(report.longrepr)
        report.outcome = "failed"
        report.longrepr = f"{report.nodeid}: {reason}: skipped, which fails where CI is set (`make test CI=` to skip)"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, Any, Any]:
    return _failed((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, Any, Any]:
    return _failed((yield))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    seed = SIM_SEED or str(1 + zlib.crc32(item.nodeid.encode()) % SIM_SEEDS)
    os.environ["SLUICE_SIM_SEED"] = seed
    print(f"SLUICE_SIM_SEED={seed}")

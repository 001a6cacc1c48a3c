# SPDX-License-Identifier: Apache-2.0
"""What else the machine did while a benchmark ran: processor time of all that is not this process and its children. Figures of the
host's side are processor time, so other work does not count in them, but it takes caches, memory and clock away: it is told."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

BUSY = 0.25  # cores that others use, from which on the machine counts as busy


def _all_seconds(stat: Path) -> float:
    """Processor seconds that everybody used since the machine started; guests are in the first two, and stolen time is nobody's."""
    user, nice, system, _idle, _waiting, irq, soft, *_ = map(int, stat.read_text().splitlines()[0].split()[1:])
    return (user + nice + system + irq + soft) / os.sysconf("SC_CLK_TCK")


def _own_seconds() -> float:
    """Of this process and of the children that have ended."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


@dataclass
class Watch:
    """Begins when it is made."""

    stat: Path = Path("/proc/stat")
    loads: Path = Path("/proc/loadavg")
    begun: tuple[float, float, float] = field(init=False)
    load: float = field(init=False)

    def __post_init__(self) -> None:
        self.begun, self.load = self._now(), float(self.loads.read_text().split()[0])

    def _now(self) -> tuple[float, float, float]:
        return time.monotonic(), _all_seconds(self.stat), _own_seconds()

    def told(self) -> dict[str, Any]:
        """Since then: cores that this benchmark used, and others; the load average at the beginning."""
        passed, everybody, own = (now - then for now, then in zip(self._now(), self.begun, strict=True))
        passed = max(passed, 0.01)
        others = max(0.0, (everybody - own) / passed)
        return {
            "cores": len(os.sched_getaffinity(0)),
            "used": round(own / passed, 2),
            "used_by_others": round(others, 2),
            "load_average_before": self.load,
            "busy": others > BUSY,
        }


def warning(told: dict[str, Any]) -> str | None:
    """A sentence where the machine was busy."""
    if not told["busy"]:
        return None
    others = f"{told['used_by_others']:.2f} of {told['cores']} cores"
    return f"the machine was busy: other work used {others}; figures of software are lower"

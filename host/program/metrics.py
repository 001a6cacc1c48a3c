# SPDX-License-Identifier: Apache-2.0
"""Counters of a live run for Prometheus, by HTTP; `./sluice top` reads the same."""

from __future__ import annotations

import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from host.program import InputError
from host.program.live import Counters

PORT = 9464
PATIENCE = 5.0  # s

Key = tuple[str, tuple[str, ...]]  # name of a sample, and the values of its labels in the order of their names


class _Counters(Collector):
    def __init__(self, ask: Callable[[], Counters]) -> None:
        self.ask = ask

    def collect(self) -> Iterator[Metric]:
        """Asked for at each request."""
        try:
            seen = self.ask()
        except RuntimeError:  # the run ends
            return
        packets = CounterMetricFamily("sluice_packets", "packets of a lane, by what became of them", labels=("lane", "fate"))
        for number, lane in enumerate(seen.lanes):
            for fate, count in vars(lane).items():
                packets.add_metric((str(number), fate), count)
        yield packets
        taken = CounterMetricFamily("sluice_iterations", "flits or tokens that an instance took", labels=("instance",))
        for name, count in seen.iterations.items():
            taken.add_metric((name,), count)
        yield taken
        busy = CounterMetricFamily("sluice_stage_seconds", "time of the core in instances that run as one loop", labels=("stage",))
        for stage in seen.stages:
            busy.add_metric((stage.name,), stage.ticks / seen.ticks_per_second)
        yield busy
        yield CounterMetricFamily("sluice_switches", "changes to another program", value=seen.switches)
        yield CounterMetricFamily("sluice_dropped", "packets that waited for something at such a change", value=seen.dropped)
        yield GaugeMetricFamily("sluice_waiting", "tokens that wait", value=seen.unread)


@contextmanager
def served(port: int, ask: Callable[[], Counters]) -> Iterator[None]:
    """Answers at this port of the loopback interface. Raises InputError where it is taken."""
    registry = CollectorRegistry()
    registry.register(_Counters(ask))
    try:
        server, thread = start_http_server(port, "127.0.0.1", registry)
    except OSError as error:
        raise InputError(f"--metrics {port}: {error.strerror}") from error
    try:
        yield
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def scraped(url: str) -> dict[Key, float]:
    """Samples by name and labels. Raises InputError where nobody answers, or something else does."""
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            text = answer.read().decode()
        families = list(text_string_to_metric_families(text))
    except (OSError, ValueError) as error:
        reason = getattr(error, "reason", error)
        raise InputError(f"{url}: {reason}; a run answers there that was started with --metrics") from error
    samples = [sample for family in families for sample in family.samples]
    found = {(s.name, tuple(value for _, value in sorted(s.labels.items()))): s.value for s in samples}
    if not any(name.startswith("sluice_") for name, _ in found):
        raise InputError(f"{url}: these are not the counters of a run of sluice")
    return found

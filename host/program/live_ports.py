# SPDX-License-Identifier: Apache-2.0
"""Ports of a live run by simple names, as DPDK knows them: with a queue for each thread."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from host.program import InputError
from host.program.captures import read_capture, write_capture, write_split

KINDS = {
    "tap": "net_tap{n},iface={value}",
    "af_packet": "net_af_packet{n},iface={value},qpairs={threads}",
    "af_xdp": "net_af_xdp{n},iface={value},queue_count={threads}",
    "pcap": "net_pcap{n}",
    "replay": "net_pcap{n},infinite_rx=1",
    "null": "net_null{n}",
}
PORTS = "INTERFACE, tap:NAME, af_packet:IF, af_xdp:IF, pcap:IN,OUT, replay:IN, null, pci:ADDRESS"


@dataclass(frozen=True)
class LivePort:
    """The `number`-th port of a run, as the user calls it. Raises InputError where there is none. `folder`: for the captures of the
    threads, where there are several."""

    number: int
    text: str
    threads: int = 1
    folder: Path = Path()

    def __post_init__(self) -> None:
        kind, value = self._parts()
        if kind not in ("pci", *KINDS) or bool(value) == (kind == "null"):
            raise InputError(f"unknown port '{self.text}'; choose from {PORTS}")
        if self.is_capture and not os.access(self._source(), os.R_OK):
            raise InputError(f"port {self.text}: cannot read {self._source()}")
        if kind in ("af_packet", "af_xdp") and not Path("/sys/class/net", value).exists():
            raise InputError(f"port {self.text}: there is no interface '{value}'")

    def _parts(self) -> tuple[str, str]:
        kind, _, value = self.text.partition(":")
        return ("af_packet", self.text) if kind not in ("pci", *KINDS) and not value else (kind, value)

    @property
    def is_capture(self) -> bool:
        """Whether its packets are of a file."""
        return self._parts()[0] in ("pcap", "replay")

    def _source(self) -> Path:
        return Path(self._parts()[1].partition(",")[0])

    def _sink(self) -> Path | None:
        sink = self._parts()[1].partition(",")[2]
        return Path(sink) if sink else None

    def _of_threads(self, way: str) -> list[Path]:
        return [self.folder / f"{self.number}-{thread}-{way}.pcap" for thread in range(self.threads)]

    def options(self) -> tuple[str, list[str]]:
        """Its name in DPDK, and the option that makes it. Writes the captures of the threads."""
        kind, value = self._parts()
        if kind == "pci":
            return value, ["-a", value]
        option = KINDS[kind].format(n=self.number, value=value, threads=self.threads)
        if self.is_capture:
            sources, sinks = [self._source()], [self._sink()] if self._sink() else []
            if self.threads > 1:
                sources = self._of_threads("in")
                write_split(self._source(), sources)
                sinks = [*self._of_threads("out")] if sinks else []
            option += "".join([*(f",rx_pcap={path}" for path in sources), *(f",tx_pcap={path}" for path in sinks)])
        return option.partition(",")[0], ["--vdev", option]

    def finish(self) -> None:
        """Behind the run: one capture of what left the threads, in the order of time."""
        sink = self._sink()
        if self.is_capture and sink and self.threads > 1:
            packets = [packet for path in self._of_threads("out") for packet in read_capture(path)]
            write_capture(sink, sorted(packets, key=lambda packet: packet.time))

# SPDX-License-Identifier: Apache-2.0
"""DPDK's testpmd on the driver, for tests: its own run folder and memory without huge pages, one polling thread.

Commands are given in a file before forwarding and by a pipe afterwards; what it counts is asked over its telemetry socket.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

from host.pmd.build import build as build_driver
from shell.sim.build import FLOW
from shell.sim.build import build as build_device
from testing.telemetry import ask

PATIENCE = 60.0  # seconds until a test gives up; a loaded machine is slow
# A full transmit ring makes it wait, up to a second: without this it drops, and a loaded machine loses packets.
PRESS_BACK = ("set fwd io retry", "set burst tx delay 10 retry 100000")
MEMORY = ["--no-huge", "--legacy-mem", "-m", "256", "--no-pci"]
CORES = "(" + ",".join(map(str, sorted(os.sched_getaffinity(0)))) + ")"  # threads that float: others compute here too


class Testpmd:
    """One run. `vdevs` are its devices without `device=`; `commands` are executed before `begin`."""

    __test__ = False

    def __init__(
        self,
        folder: Path,
        vdevs: Sequence[str],
        commands: Sequence[str] = (),
        options: Sequence[str] = (),
        prefix: Sequence[str] = (),
        device: str = "sim",
        begin: Sequence[str] = ("port start all", "start"),
        sizes: Mapping[str, int] = FLOW,
        library: Path | None = None,
    ) -> None:
        """`library`: of a simulated device that is not one of `sizes`."""
        self.folder = folder
        self.prefix = f"sluice{os.getpid()}"
        which = device if device.startswith("functional") else f"{device}:{library or build_device(sizes)}"
        script = folder / "commands"
        script.write_text("\n".join([*PRESS_BACK, *commands, *begin]) + "\n")
        # A Unix socket's name is short: the run folder is not below the test's. Nobody else can guess or open it.
        self.run_folder = Path(tempfile.mkdtemp(prefix="sl-"))
        eal = ["dpdk-testpmd", *MEMORY, "--file-prefix", self.prefix, "--lcores", f"0@{CORES},1@{CORES}", "-d", str(build_driver())]
        for vdev in vdevs:
            eal += ["--vdev", vdev.replace(",", f",device={which},", 1)]
        own = [
            "-i",
            "--total-num-mbufs=4096",
            "--nb-cores=1",
            "--no-flush-rx",
            "--disable-device-start",
            f"--cmdline-file={script}",
        ]
        command = [*prefix, *eal, "--log-level=pmd.net.sluice:debug", "--", *own, *options]
        self.output = (folder / "output").open("w+")
        self.errors = (folder / "errors").open("w+")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=self.output,
            stderr=self.errors,
            text=True,
            env={**os.environ, "RUNTIME_DIRECTORY": str(self.run_folder)},
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        subprocess.run(["rm", "-rf", str(self.run_folder)], check=False)

    def tell(self, *commands: str) -> None:
        """Commands while it runs."""
        assert self.process.stdin is not None
        self.process.stdin.write("".join(f"{line}\n" for line in commands))
        self.process.stdin.flush()

    def ask(self, command: str) -> dict[str, Any]:
        """The answer of its telemetry, once it is there."""
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if (answer := ask(self.run_folder, self.prefix, command)) is not None:
                    return dict(answer)
            except (FileNotFoundError, ConnectionError):
                pass
            self.check(end)

    def check(self, end: float) -> None:
        """A pause; an error where it has ended or the time is over."""
        if self.process.poll() is not None or time.monotonic() > end:
            raise AssertionError(f"testpmd {self.process.poll()}: {self.text(self.output)[-2000:]}{self.text(self.errors)[-4000:]}")
        time.sleep(0.02)

    def wait(self, port: int, counter: str, value: int) -> None:
        """Until a counter of a port has come to a value."""
        end = time.monotonic() + PATIENCE
        while self.ask(f"/ethdev/xstats,{port}")[counter] < value:
            self.check(end)

    def wait_counted(self, port: int, packets: Sequence[int]) -> None:
        """Until its rules counted that, in any order: the device writes counters into host memory rule by rule."""
        end = time.monotonic() + PATIENCE
        while sorted(self.ask(f"/net_sluice/rules,{port}").values()) != sorted(packets):
            self.check(end)

    def wait_link(self, port: int, status: str) -> None:
        """Until the link of a port is UP or DOWN."""
        end = time.monotonic() + PATIENCE
        while self.ask(f"/ethdev/link_status,{port}")["status"] != status:
            self.check(end)

    def wait_text(self, text: str) -> None:
        """Until it has said something on its standard error."""
        end = time.monotonic() + PATIENCE
        while text not in self.text(self.errors):
            self.check(end)

    def text(self, file: IO[str]) -> str:
        """What it has printed so far."""
        return Path(file.name).read_text(errors="replace")

    def quit(self) -> tuple[str, str]:
        """End it in order: standard output and error, whole."""
        self.tell("quit")
        status = self.process.wait(PATIENCE)
        assert status == 0, f"status {status}: {self.text(self.errors)[-4000:]}"
        return self.text(self.output), self.text(self.errors)

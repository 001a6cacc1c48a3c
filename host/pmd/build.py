# SPDX-License-Identifier: Apache-2.0
"""Compiles the driver for DPDK, `build/pmd/librte_net_sluice.so.NN`, with all of the host library in it, when a source changed.

`python -m host.pmd.build` prints its path, which `-d` of a DPDK program takes. Debian's DPDK refuses drivers under folders that
everyone may write to; where the checkout is in such a one, the driver goes to `~/.cache/sluice/pmd` instead.
"""

from __future__ import annotations

import hashlib
import os
import stat
import subprocess
import sys
from pathlib import Path

from host.build import FLAGS, HOST, INCLUDES, LIBSLUICE, BuildError, c_files
from host.build import build_program as build_device_program
from toolchain import ROOT
from toolchain.setup.dpdk import HEADERS

BUILD = ROOT / "build" / "pmd"
HERE = HOST / "pmd"
NAME = "librte_net_sluice.so"
FOLDERS = (*LIBSLUICE, "lanes", "pmd")  # of `host`
NEEDED = ["ethdev", "bus_vdev", "eal", "mbuf", "mempool", "ring", "kvargs", "net", "telemetry"]
DEFINES = ("-DALLOW_INTERNAL_API", "-DALLOW_EXPERIMENTAL_API")


def dpdk_flags() -> list[str]:
    """The compiler's flags for DPDK's own headers, whose warnings are not ours."""
    if not HEADERS.exists():
        raise BuildError("DPDK's driver headers are missing: run `make dpdk`")
    told = subprocess.run(["pkg-config", "--cflags", "libdpdk"], capture_output=True, text=True, check=True).stdout.split()
    return [flag.replace("-I", "-isystem", 1) if flag.startswith("-I") else flag for flag in told] + ["-isystem", str(HEADERS)]


def _folder() -> Path:
    """Where DPDK loads a driver from: neither the folder nor one above it is everyone's to write to. Raises BuildError."""
    for folder in (BUILD, Path.home() / ".cache" / "sluice" / "pmd"):
        folder.mkdir(parents=True, exist_ok=True)
        if not any(above.stat().st_mode & stat.S_IWOTH for above in (folder.resolve(), *folder.resolve().parents)):
            return folder
    raise BuildError(f"DPDK loads no driver from {BUILD}: a parent folder is world-writable; move the checkout")


def build() -> Path:
    """The driver; made when it is not there. Raises BuildError with the compiler's words."""
    sources = c_files(FOLDERS)
    headers = sorted(path for folder in (*INCLUDES, HERE) for path in folder.glob("*.h"))
    flags = [*FLAGS, "-O3", "-fPIC", "-shared", "-fvisibility=hidden", *DEFINES, *dpdk_flags()]
    flags.append(f'-DSLUICE_DEVICE_PROGRAM="{build_device_program()}"')
    state = hashlib.sha256(repr(flags).encode())
    for path in [*sources, *headers, HEADERS.parent / "done"]:
        state.update(path.name.encode() + path.read_bytes())
    target = _folder() / state.hexdigest()[:16] / NAME
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(f".{os.getpid()}")
        includes = [f"-I{path}" for path in (*INCLUDES, HERE)]
        libraries = [*(f"-lrte_{name}" for name in NEEDED), "-lpcap", "-lpthread", "-ldl", "-lm", "-Wl,--no-undefined"]
        command = ["gcc", *flags, *includes, "-o", str(unfinished), *map(str, sources), *libraries]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(done.stderr[-6000:])
        unfinished.rename(target)
    return target


def build_program(source: Path, driver: bool = False, library: Path | None = None) -> Path:
    """A DPDK program, or a driver, of one C file, which may use a build of the host library; made when it is not there. Raises
    BuildError."""
    libraries = [f"-lrte_{name}" for name in NEEDED]
    if library:
        libraries += [*(f"-I{path}" for path in INCLUDES), str(library), f"-Wl,-rpath,{library.parent}"]
    kind = ["-fPIC", "-shared", *DEFINES] if driver else []
    command = [*FLAGS, "-O2", *kind, *dpdk_flags(), str(source), *libraries, "-lpthread"]
    digest = hashlib.sha256(repr(command).encode() + source.read_bytes()).hexdigest()[:16]
    target = _folder() / f"{source.stem}-{digest}.so" if driver else BUILD / f"{source.stem}-{digest}"
    if not target.exists():
        BUILD.mkdir(parents=True, exist_ok=True)
        unfinished = target.with_suffix(f".{os.getpid()}")
        done = subprocess.run(["gcc", *command, "-o", str(unfinished)], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise BuildError(done.stderr[-6000:])
        unfinished.rename(target)
    return target


def main() -> int:
    """The command; its exit status."""
    try:
        print(build())
    except BuildError as error:
        print(f"pmd: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())

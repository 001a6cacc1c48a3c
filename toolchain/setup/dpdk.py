# SPDX-License-Identifier: Apache-2.0
"""Installs what the driver (host/pmd) and its tests need: Debian's DPDK, Open vSwitch and perf, and the drivers' headers of DPDK.

Debian packs no driver headers, so they are taken out of the distribution's own source package of the version that is installed,
into build/dpdk/include, and with them one of DPDK's examples, which a test runs on the driver. Needs half a minute and 40 MB to
download, once; `toolchain/setup/setup.sh --dpdk`.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

from toolchain.setup.setup import ROOT, debian, run, say

TREE = ROOT / "build" / "dpdk"
HEADERS = TREE / "include"
EXAMPLES = TREE / "examples"
EXAMPLE = "l3fwd-graph"
STAMP = TREE / "done"
TOOLS = {
    "libdpdk-dev": {"package": "libdpdk-dev", "file": "/usr/include/dpdk/rte_flow_driver.h"},
    "dpdk": {"package": "dpdk", "command": "dpdk-devbind.py"},
    "dpdk-dev": {"package": "dpdk-dev", "command": "dpdk-testpmd"},
    "openvswitch": {"package": "openvswitch-switch-dpdk", "file": "/usr/lib/openvswitch-switch-dpdk/ovs-vswitchd-dpdk"},
    "perf": {"package": "linux-perf", "command": "perf"},
    "pkg-config": {"package": "pkg-config", "command": "pkg-config"},
}
WANTED = ("ethdev_driver.h", "ethdev_vdev.h", "bus_vdev_driver.h", "bus_driver.h", "dev_driver.h")
INDEX = "$(REPO_URI) $(RELEASE) $(COMPONENT) $(ORIGIN)"


def output(*command: str) -> str:
    """What a command prints."""
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()


def sources(folder: Path) -> list[str]:
    """Options for an apt-get that knows the source packages of the distribution, and nothing else of this machine changes."""
    lines = set()
    for line in output("apt-get", "indextargets", "--format", INDEX, "Created-By: Packages").splitlines():
        where, release, component, origin = line.split()
        if origin == "Debian":
            lines.add(f"deb-src {where} {release} {component}\n")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sources.list").write_text("".join(sorted(lines)))
    (folder / "lists" / "partial").mkdir(parents=True, exist_ok=True)
    settings = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::State::Lists": folder / "lists",
        "Dir::Cache::pkgcache": "",
        "Dir::Cache::srcpkgcache": "",
        "APT::Sandbox::User": "root" if os.geteuid() == 0 else "",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def parts(version: str) -> None:
    """Put the driver headers and the example of a version of the source package into build/dpdk."""
    folder = TREE / "source"
    shutil.rmtree(folder, ignore_errors=True)
    options = sources(folder)
    run("apt-get", "update", "-qq", *options)
    run("sh", "-c", 'cd "$1" && shift && apt-get source -qq --download-only "$@"', "sh", str(folder), *options, f"dpdk={version}")
    unfinished = TREE / "unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    (archive,) = folder.glob("*.orig.tar.xz")
    with tarfile.open(archive) as tar:
        for member in tar:
            if member.isfile() and (place := place_of(Path(member.name))):
                content = tar.extractfile(member)
                assert content is not None
                (unfinished / place).parent.mkdir(parents=True, exist_ok=True)
                (unfinished / place).write_bytes(content.read())
    wanted = [*(Path(HEADERS.name, name) for name in WANTED), Path(EXAMPLES.name, EXAMPLE, "Makefile")]
    missing = [str(place) for place in wanted if not (unfinished / place).exists()]
    if missing:
        sys.exit(f"setup: the source package of DPDK {version} has no {', '.join(missing)}")
    for tree in (HEADERS, EXAMPLES):
        shutil.rmtree(tree, ignore_errors=True)
        (unfinished / tree.name).rename(tree)
    shutil.rmtree(folder)


def place_of(member: Path) -> Path | None:
    """Where a file of the source package goes below build/dpdk, if it is wanted."""
    if member.name in WANTED:
        return Path(HEADERS.name, member.name)
    return Path(EXAMPLES.name, EXAMPLE, member.name) if member.parts[1:-1] == ("examples", EXAMPLE) else None


def main() -> None:
    """Install what is missing; the stamp holds the version of DPDK that the headers are of."""
    debian(TOOLS)
    version = output("dpkg-query", "--show", "--showformat", "${source:Version}", "libdpdk-dev")
    if not STAMP.exists() or STAMP.read_text() != version or not EXAMPLES.exists():
        say(f"extracting driver headers and an example from the source package of DPDK {version}")
        parts(version)
        STAMP.write_text(version)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
"""Records the captures of this folder: real programs talk through a Linux router in network namespaces.

Run as root: `build/env/bin/python testing/captures/record.py`. Five namespaces are made and removed again: a router with
the lanes 0 to 3, and a host behind each lane. Nothing leaves them. tcpdump writes what arrives at each lane of the router.
The kernel need not know VLANs: the tagged sub-interface of lane 2 is a TAP and a few lines here that add the tag.
Payloads repeat, so that the files compress. A program that is missing ends the recording before anything was changed.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import lzma
import os
import select
import shutil
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

HERE = Path(__file__).resolve().parent
LANES = 4
ROUTER = "sluice-router"
PROGRAMS = {
    "ip": "iproute2",
    "tcpdump": "tcpdump",
    "ethtool": "ethtool",
    "ping": "iputils-ping",
    "iperf3": "iperf3",
    "dnsmasq": "dnsmasq-base",
    "dig": "bind9-dnsutils",
    "traceroute": "traceroute",
    "nc": "netcat-openbsd",
    "curl": "curl",
}
VLAN = 100
ETH_ALL = 3
SOL_PACKET, PACKET_AUXDATA = 263, 8
TUNSETIFF, IFF_TAP_NO_PI = 0x400454CA, 0x1002
CLONE_NEWNET = 0x40000000


def host(lane: int) -> str:
    """Namespace of the host behind a lane."""
    return f"sluice-host{lane}"


def run(*command: str, check: bool = True, wait: float = 60) -> str:
    """Run a command to its end; its output."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=wait)
    if check and done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def inside(namespace: str, *command: str, check: bool = False, wait: float = 60) -> str:
    """Run a command in a namespace; a ping without an answer is no error."""
    return run("ip", "netns", "exec", namespace, *command, check=check, wait=wait)


def start(namespace: str, *command: str) -> subprocess.Popen[bytes]:
    """Start a server in a namespace."""
    quiet = subprocess.DEVNULL
    return subprocess.Popen(["ip", "netns", "exec", namespace, *command], stdout=quiet, stderr=quiet)


def enter(namespace: str) -> None:
    """Move this process into a namespace."""
    with Path(f"/run/netns/{namespace}").open() as handle:
        if ctypes.CDLL(None, use_errno=True).setns(handle.fileno(), CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), f"setns {namespace}")


def child(namespace: str, work: object, *arguments: object) -> int:
    """Fork a process that does `work` in a namespace; its process id."""
    pid = os.fork()
    if pid == 0:
        try:
            enter(namespace)
            work(*arguments)  # type: ignore[operator]
        finally:
            os._exit(0)
    return pid


def tagger(interface: str, mac: str) -> None:
    """A VLAN sub-interface: frames between the TAP `vlan100` and `interface`, there with a tag."""
    tap = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(tap, TUNSETIFF, struct.pack("16sH22x", f"vlan{VLAN}".encode(), IFF_TAP_NO_PI))
    run("ip", "link", "set", f"vlan{VLAN}", "address", mac, "mtu", "1400")
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETH_ALL))
    wire.bind((interface, 0))
    wire.setsockopt(SOL_PACKET, PACKET_AUXDATA, 1)
    tag = struct.pack(">HH", 0x8100, VLAN)
    while True:
        ready, _, _ = select.select([tap, wire.fileno()], [], [])
        if tap in ready:
            frame = os.read(tap, 2048)
            wire.send(frame[:12] + tag + frame[12:])
        if wire.fileno() in ready:
            frame, extra, _, address = wire.recvmsg(2048, 256)
            for level, kind, data in extra:
                if (level, kind) == (SOL_PACKET, PACKET_AUXDATA) and address[2] != socket.PACKET_OUTGOING:
                    tci, protocol = struct.unpack_from("HH", data, 16)
                    if protocol and tci & 0xFFF == VLAN:
                        os.write(tap, frame)


def link(lane: int) -> None:
    """A veth pair between the router and a host, with fixed addresses and no offloads."""
    near, far = f"lane{lane}", "eth0"
    run("ip", "link", "add", near, "netns", ROUTER, "type", "veth", "peer", "name", far, "netns", host(lane))
    for namespace, name, mac in ((ROUTER, near, 0), (host(lane), far, 1)):
        inside(namespace, "ip", "link", "set", name, "address", f"02:00:00:00:0{mac}:0{lane}", check=True)
        features = [word for f in ("tx", "rx", "sg", "tso", "gso", "gro") for word in (f, "off")]
        inside(namespace, "ethtool", "-K", name, *features)
    inside(ROUTER, "ip", "addr", "add", f"10.0.{lane}.1/24", "dev", near, check=True)
    inside(ROUTER, "ip", "addr", "add", f"2001:db8:{lane}::1/64", "dev", near, "nodad", check=True)
    inside(host(lane), "ip", "addr", "add", f"10.0.{lane}.2/24", "dev", far, check=True)
    inside(host(lane), "ip", "addr", "add", f"2001:db8:{lane}::2/64", "dev", far, "nodad", check=True)
    for namespace, name in ((ROUTER, near), (host(lane), far)):
        inside(namespace, "ip", "link", "set", "lo", "up", check=True)
        inside(namespace, "ip", "link", "set", name, "up", check=True)
    for extra in range(1, 7):
        inside(host(lane), "ip", "addr", "add", f"10.{lane + 1}.{extra}.1/32", "dev", "lo", check=True)
        inside(host(lane), "ip", "addr", "add", f"2001:db8:{lane + 1}0:{extra}::1/128", "dev", "lo", check=True)
    inside(host(lane), "ip", "route", "add", "default", "via", f"10.0.{lane}.1", check=True)
    inside(host(lane), "ip", "-6", "route", "add", "default", "via", f"2001:db8:{lane}::1", check=True)
    inside(ROUTER, "ip", "route", "add", f"10.{lane + 1}.0.0/16", "via", f"10.0.{lane}.2", check=True)
    inside(ROUTER, "ip", "-6", "route", "add", f"2001:db8:{lane + 1}0::/48", "via", f"2001:db8:{lane}::2", check=True)


def vlan() -> list[int]:
    """The tagged sub-interface of lane 2, both ends."""
    children = [
        child(ROUTER, tagger, "lane2", "02:00:00:00:00:02"),
        child(host(2), tagger, "eth0", "02:00:00:00:01:02"),
    ]
    time.sleep(0.5)
    for namespace, last in ((ROUTER, 1), (host(2), 2)):
        inside(namespace, "ip", "addr", "add", f"10.0.100.{last}/24", "dev", f"vlan{VLAN}", check=True)
        inside(namespace, "ip", "link", "set", f"vlan{VLAN}", "up", check=True)
    for prefix in ("10.1.6.0/24", "10.4.5.0/24"):
        inside(host(2), "ip", "route", "add", prefix, "via", "10.0.100.1", check=True)
    return children


@contextlib.contextmanager
def network() -> Iterator[list[int]]:
    """The namespaces and links; removed at the end, whatever happened."""
    names = [ROUTER, *(host(lane) for lane in range(LANES))]
    children: list[int] = []
    try:
        for name in names:
            run("ip", "netns", "add", name)
            for key in ("net.ipv4.conf.all.rp_filter=0", "net.ipv4.conf.default.rp_filter=0"):
                inside(name, "sysctl", "-qw", key)
        for key in (
            "net.ipv4.ip_forward=1",
            "net.ipv6.conf.all.forwarding=1",
            "net.ipv4.icmp_ratelimit=0",
            "net.ipv4.conf.all.send_redirects=0",
        ):
            inside(ROUTER, "sysctl", "-qw", key)
        for lane in range(LANES):
            link(lane)
        children += vlan()
        time.sleep(2)
        yield children
    finally:
        for pid in children:
            os.kill(pid, 9)
            os.waitpid(pid, 0)
        for name in names:
            run("ip", "netns", "del", name, check=False)


def servers(folder: Path) -> list[subprocess.Popen[bytes]]:
    """What answers: iperf3, HTTP, DNS, a TCP sink, on the hosts of lanes 1 and 3."""
    (folder / "small.html").write_text("<p>sluice</p>\n" * 20)
    (folder / "large.html").write_text("<p>a line of text that repeats</p>\n" * 6000)
    started = []
    for lane in (1, 3):
        started.append(start(host(lane), "iperf3", "-s"))
        python = [sys.executable, "-m", "http.server", "80", "--bind", "::", "--directory", str(folder)]
        started.append(start(host(lane), *python))
        dns = ["dnsmasq", "-k", "-R", "-h", "--pid-file=", "--conf-file=/dev/null", "--address=/sluice.example/10.2.1.1"]
        started.append(start(host(lane), *dns))
    started.append(start(host(1), "nc", "-lk", "5000"))
    time.sleep(1)
    return started


def names(lane: int, server: str, count: int) -> None:
    """DNS questions from ports of their own, each waiting for its answer."""
    for index in range(count):
        family = socket.AF_INET6 if ":" in server else socket.AF_INET
        with socket.socket(family, socket.SOCK_DGRAM) as asker:
            asker.settimeout(1)
            labels = f"h{index % 16}.lane{lane}.sluice.example".split(".")
            question = b"".join(bytes([len(label)]) + label.encode() for label in labels) + b"\0\0\1\0\1"
            asker.sendto(struct.pack(">HHHHHH", index, 0x100, 1, 0, 0, 0) + question, (server, 53))
            with contextlib.suppress(OSError):
                asker.recv(2048)


def local_talk(lane: int) -> None:
    """What stays on the link: multicast DNS, a broadcast, a frame that is no IP at all, and joins of groups."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp:
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        member = socket.inet_aton("224.0.0.251") + socket.inet_aton(f"10.0.{lane}.2")
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, member)
        udp.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(f"10.0.{lane}.2"))
        for index in range(12):
            udp.sendto(b"\0\0\0\0\0\1\0\0\0\0\0\0\6sluice\5local\0\0\xff\0\1", ("224.0.0.251", 5353))
            udp.sendto(b"here I am %d" % index, (f"10.0.{lane}.255", 9999))
    with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as udp:
        interface = socket.if_nametoindex("eth0")
        udp.setsockopt(
            socket.IPPROTO_IPV6, socket.IPV6_JOIN_GROUP, socket.inet_pton(socket.AF_INET6, "ff02::fb") + struct.pack("i", interface)
        )
        for _ in range(8):
            udp.sendto(b"\0\0\0\0\0\1\0\0\0\0\0\0\6sluice\5local\0\0\xff\0\1", ("ff02::fb", 5353, 0, interface))
    with socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
        raw.bind(("eth0", 0))
        for _ in range(6):
            lldp = bytes.fromhex("0180c200000e") + bytes([2, 0, 0, 0, 1, lane]) + b"\x88\xcc\x02\x07\x04\x02\0\0\0\1"
            raw.send(lldp + bytes([lane]) + b"\x04\x02\x07\x30\x06\x02\0\x78" + bytes(30))


def wait_for(pid: int) -> None:
    """Until a child has ended."""
    os.waitpid(pid, 0)


def iperf(lane: int, server: str, *options: str) -> None:
    """One iperf3 run with a payload that repeats."""
    inside(host(lane), "iperf3", "-c", server, "--repeating-payload", *options)


def bulk() -> None:
    """TCP and UDP in large and small packets, over IPv4, IPv6 and the VLAN."""
    iperf(0, "10.2.1.1", "-n", "900K")
    iperf(0, "10.2.2.1", "-n", "300K", "-M", "536", "-R")
    iperf(0, "2001:db8:20:1::1", "-n", "700K")
    iperf(2, "2001:db8:40:2::1", "-n", "150K", "-M", "600")
    iperf(3, "10.2.3.1", "-n", "60K", "-M", "120", "-P", "2")
    iperf(2, "10.4.5.1", "-n", "120K")
    for lane, server, size, rate, count in (
        (0, "10.0.3.2", "22", "1M", 1800),
        (2, "10.0.1.2", "64", "2M", 700),
        (3, "2001:db8:1::2", "64", "2M", 700),
        (0, "2001:db8:3::2", "200", "4M", 400),
        (2, "10.0.3.2", "1400", "20M", 200),
        (0, "10.0.1.2", "4000", "20M", 40),
        (0, "2001:db8:1::2", "4000", "20M", 20),
    ):
        iperf(lane, server, "-u", "-l", size, "-b", rate, "-k", str(count))


def sessions() -> None:
    """Many short conversations: HTTP, DNS, a raw TCP stream."""
    for index in range(60):
        lane = (0, 2, 3)[index % 3]
        page = "large.html" if index % 20 == 0 else "small.html"
        server = ("10.2.5.1", "[2001:db8:20:5::1]")[index % 2]
        inside(host(lane), "curl", "-s", "-o", "/dev/null", f"http://{server}/{page}")
    for lane, server, count in ((0, "10.2.1.1", 150), (2, "2001:db8:20:2::1", 100), (0, "10.4.6.1", 100)):
        wait_for(child(host(lane), names, lane, server, count))
    inside(host(3), "sh", "-c", "head -c 60000 /dev/zero | nc -N 10.2.6.1 5000")


def probes() -> None:
    """Echo in every size and with options, traces, closed ports, denied ports, addresses that nobody has."""
    for source in range(LANES):
        for target in range(LANES):
            if source == target:
                continue
            inside(host(source), "ping", "-c", "40", "-i", "0.005", "-q", f"10.{target + 1}.1.1")
            inside(host(source), "ping", "-6", "-c", "25", "-i", "0.005", "-q", f"2001:db8:{target + 1}0:1::1")
    for option in ("-s 3000", "-s 1472", "-s 0", "-R", "-T tsonly", "-t 1", "-Q 0xb8"):
        inside(host(0), "ping", "-c", "12", "-i", "0.01", "-W", "1", *option.split(), "10.4.1.1")
    for option in ("-s 3000", "-s 1452", "-s 1", "-t 1"):
        inside(host(2), "ping", "-6", "-c", "12", "-i", "0.01", "-W", "1", *option.split(), "2001:db8:10:1::1")
    inside(host(2), "ping", "-c", "30", "-i", "0.01", "10.1.6.1")
    inside(host(0), "ping", "-c", "10", "-i", "0.01", "10.0.100.2")
    inside(host(0), "ping", "-c", "6", "-i", "0.01", "10.0.0.1")
    for nobody in ("192.0.2.1", "198.51.100.7", "10.9.9.9"):
        inside(host(1), "ping", "-c", "5", "-i", "0.01", "-W", "1", nobody)
    inside(host(1), "ping", "-6", "-c", "5", "-i", "0.01", "-W", "1", "2001:db8:ffff::1")
    for option in ("", "-I", "-T -p 80"):
        inside(host(0), "traceroute", "-n", "-w", "0.3", *option.split(), "10.4.1.1")
    inside(host(0), "traceroute", "-6", "-n", "-w", "0.3", "2001:db8:40:1::1")
    for denied in ("22", "23", "3306"):
        inside(host(0), "nc", "-z", "-w", "1", "10.2.1.1", denied)
        inside(host(2), "nc", "-6", "-z", "-w", "1", "2001:db8:20:1::1", denied)


def traffic(folder: Path) -> None:
    """Everything that is recorded, one after the other, so that a recording looks much like the last one."""
    started = servers(folder)
    try:
        for lane in range(LANES):
            wait_for(child(host(lane), local_talk, lane))
        probes()
        sessions()
        bulk()
        inside(host(0), "ip", "neigh", "flush", "all")
        inside(host(0), "ping", "-c", "5", "-i", "0.01", "10.2.1.1")
    finally:
        for process in started:
            process.kill()
            process.wait()


def record(folder: Path) -> None:
    """Record one pcap a lane and compress it into this folder."""
    with network():
        dumps = [
            start(
                ROUTER, "tcpdump", "-i", f"lane{lane}", "-Q", "in", "-s", "0", "-Z", "root", "-w", str(folder / f"lane{lane}.pcap")
            )
            for lane in range(LANES)
        ]
        time.sleep(1)
        traffic(folder)
        time.sleep(1)
        for dump in dumps:
            dump.terminate()
            dump.wait()
    for lane in range(LANES):
        packed = lzma.compress((folder / f"lane{lane}.pcap").read_bytes(), preset=9 | lzma.PRESET_EXTREME)
        (HERE / f"lane{lane}.pcap.xz").write_bytes(packed)
        print(f"lane{lane}.pcap.xz: {len(packed)} bytes")


def main() -> int:
    """Check, record; the exit status."""
    missing = sorted({package for program, package in PROGRAMS.items() if not shutil.which(program)})
    if missing:
        print(f"record: install {' '.join(missing)} first", file=sys.stderr)
        return 1
    if os.geteuid() != 0:
        print("record: namespaces need root", file=sys.stderr)
        return 1
    folder = HERE.parent.parent / "build" / "captures"
    folder.mkdir(parents=True, exist_ok=True)
    record(folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""ScanDetect against sets of the hashes that each source has asked for."""

from __future__ import annotations

import random

import pytest

from compiler.interpreter.choices import SignalCall
from elements.harness import Bench
from elements.hash.address import address_hash
from elements.synflood.test_synflood import ACK, SYN, TCP, UDP, VERDICT_DROP, verdicts

ENTRIES, SECRET, PORT_SEED, WINDOW = 8, 99, 0x9E3779B9, 12
RST, FIN, VERDICT_TO_CONTROLLER = 4, 1, 4
TEXT = f"""import "elements/l4parser/l4parser.sl";
from_tor -> L4Parser :: p [1] -> [1] ScanDetect<Entries = {ENTRIES}> :: s @ -> to_tor  p.headers -> s.headers"""


class Model:
    """What each place has seen: window, source, hashes of addresses, hashes of ports."""

    def __init__(self, most_addresses: int, most_ports: int) -> None:
        self.most = (most_addresses, most_ports)
        self.places: dict[int, tuple[tuple[int, int], set[int], set[int]]] = {}
        self.replaced = self.address_scans = self.port_scans = 0

    def is_scan(self, time: int, source: int, destination: int, port: int) -> bool:
        found = address_hash(source, SECRET)
        owner = (time >> WINDOW & 0xFFFF, found // ENTRIES)
        before, addresses, ports = self.places.get(found % ENTRIES, ((-1, -1), set(), set()))
        if before != owner:
            self.replaced += before[0] == owner[0]
            addresses, ports = set(), set()
        addresses.add(address_hash(destination, SECRET) % 64)
        ports.add(address_hash(port, SECRET ^ PORT_SEED) % 64)
        self.places[found % ENTRIES] = (owner, addresses, ports)
        is_address_scan, is_port_scan = len(addresses) > self.most[0], len(ports) > self.most[1]
        self.address_scans += is_address_scan
        self.port_scans += is_port_scan and not is_address_scan
        return is_address_scan or is_port_scan


def settings(addresses: int, ports: int, verdict: int, has_udp: bool) -> list[SignalCall]:
    return [
        SignalCall("set_limits", (addresses, ports, verdict)),
        SignalCall("set_window", (WINDOW,)),
        SignalCall("set_udp", (has_udp,)),
        SignalCall("set_secret", (SECRET,)),
    ]


@pytest.mark.parametrize("has_udp", [False, True])
def test_it_finds_the_sources_that_ask_for_much(has_udp: bool) -> None:
    rng = random.Random(23)
    bed = Bench("ScanDetect", TEXT)
    model = Model(5, 7)
    sources = [rng.getrandbits(128) for _ in range(7)]
    time, probes, given, headers, wanted = 3, 0, [], [], []
    for n in range(800):
        time += rng.choice([0, 1, 30])
        behaviour = rng.randrange(3)  # asks for few, for many addresses, for many ports
        source = sources[behaviour if rng.random() < 0.9 else rng.randrange(7)]
        destination = rng.getrandbits(32) if behaviour == 1 else rng.randrange(3)
        port = rng.getrandbits(16) if behaviour == 2 else rng.choice([80, 443])
        flags, protocol = rng.choice([SYN, SYN, 0, FIN, FIN | 0x28, SYN | ACK, RST, ACK]), rng.choice([TCP, TCP, UDP, 132])
        has_ports, decided = rng.random() < 0.9, 1 if rng.random() < 0.1 else 0
        given.append((n.to_bytes(60, "little"), {"timestamp": time, "verdict": decided}))
        values = {"source": source, "destination": destination, "destination_port": port, "has_ports": has_ports}
        headers.append(bed.token("headers", tcp_flags=flags, protocol=protocol, **values))
        wanted.append(decided)
        if not decided and has_ports and (not flags & (ACK | RST) if protocol == TCP else has_udp and protocol == UDP):
            probes += 1
            if model.is_scan(time, source, destination, port):
                wanted[-1] = VERDICT_TO_CONTROLLER
    outcome = bed.run({"in": bed.flits(given), "headers": headers}, settings(5, 7, VERDICT_TO_CONTROLLER, has_udp))
    assert bed.packets(outcome.outputs["out"]) == [data for data, _ in given]
    assert verdicts(bed, outcome.outputs["out"]) == wanted
    counted = {name: outcome.state[name] for name in ("probes", "address_scans", "port_scans", "replaced")}
    assert counted == {"probes": probes} | {name: getattr(model, name) for name in list(counted)[1:]}
    assert min(model.address_scans, model.port_scans, model.replaced) > 5


def test_by_default_nothing_is_a_scan() -> None:
    bed = Bench("ScanDetect", TEXT)
    tokens = [
        bed.token("headers", source=1, destination=n, destination_port=n, tcp_flags=SYN, protocol=TCP, has_ports=1)
        for n in range(100)
    ]
    outcome = bed.run({"in": bed.flits([bytes(60)] * len(tokens)), "headers": tokens})
    assert set(verdicts(bed, outcome.outputs["out"])) == {0}
    assert outcome.state["probes"] == len(tokens) and outcome.state["address_scans"] == outcome.state["port_scans"] == 0


def test_it_says_who_and_what_it_did_not_see() -> None:
    bed = Bench("ScanDetect", TEXT)
    scanner = 0xFD00 << 112 | 7
    probe = bed.token("headers", source=scanner, destination=1, tcp_flags=SYN, protocol=TCP, has_ports=1)
    hidden = bed.token("headers", source=1, destination=2, protocol=TCP, is_ipv6=1, truncated=1)
    packets = [bytes(200), bytes(60)]
    outcome = bed.run({"in": bed.flits(packets), "headers": [probe, hidden]}, settings(0, 64, VERDICT_DROP, False))
    assert (outcome.state["last_source"], outcome.state["address_scans"], outcome.state["unseen"]) == (scanner, 1, 1)

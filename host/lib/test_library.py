# SPDX-License-Identifier: Apache-2.0
"""The library as a user meets it: rules and their errors on the simulated device, threads, and devices that fail."""

import ctypes as c
import dataclasses
import errno
import ipaddress
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import sluice_layouts as L
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.layers.vxlan import VXLAN

from host.lib.testing.devices import build_failing
from host.python.device import Action, CInstruction, CPacket, Device, SluiceError, instruction, load, prefix, set_field
from host.python.structs import mirror
from toolchain import ROOT

SEED = 20261120
LPM, EXACT = L.ELEMENT_LPM, L.ELEMENT_EXACT
POPULATE, DELETE, UPDATE = L.INSTRUCTION_POPULATE, L.INSTRUCTION_DELETE, L.INSTRUCTION_UPDATE
KEY4 = (1 << 104) - 1


@pytest.fixture(scope="module", params=["sim", "sim-process"])
def shared(request: pytest.FixtureRequest) -> Iterator[Device]:
    with Device(transport=request.param) as opened:
        yield opened


@pytest.fixture
def device(shared: Device) -> Device:
    for ofu in (LPM, EXACT):
        shared.call("sluice_ofu_init", c.c_uint16(ofu))
    return shared


def test_a_template_is_checked_and_stored_whole(device: Device) -> None:
    ip = IP(src="192.0.2.1", dst="192.0.2.7", flags="DF", id=0)
    header = bytes(Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / ip / UDP(sport=1, dport=4789) / VXLAN(vni=7))
    base = 4 * L.WINDOW_SIZE
    assert device.read(base + L.DEPARSE_REGISTERS_TEMPLATES) == L.TEMPLATES
    for index in (0, 255):
        device.template(index, header)
    info = L.TemplateInfo.from_int(sum(device.read(base + L.DEPARSE_REGISTERS_TEMPLATE_INFO + 4 * n) << 32 * n for n in range(2)))
    places = (info.ip_place, info.udp_place, info.id_place)
    assert (info.size, info.is_ipv4, info.has_udp, info.has_id, places) == (50, 1, 1, 1, (7, 17, 23))
    stored = b"".join(device.read(base + L.DEPARSE_REGISTERS_TEMPLATE_BYTES + n).to_bytes(4, "little") for n in range(0, 48, 4))
    assert stored[:16] == header[:16] and stored[26:34] == header[26:34]
    for index, data in ((256, header), (1 << 31, header), (0, header[:49]), (0, bytes(130)), (0, bytes(1))):
        with pytest.raises(SluiceError) as caught:
            device.template(index, data)
        assert caught.value.errno == errno.EINVAL
    device.template(0, b"")


def route(text: str, *actions: Action, kind: int = POPULATE, rule_id: int = 0xFFFFFFFF) -> CInstruction:
    network = ipaddress.ip_network(text)
    bits = network.max_prefixlen
    where = prefix(int(network.network_address), network.prefixlen, bits)
    return instruction(kind, int(bits == 128), rule_id, actions=actions or [Action(L.ACTION_OUTPUT, 1)], **where)


def used(device: Device, ofu: int, table: int = 0) -> int:
    """Rules in a table, as the device itself counts them and as the library does: they must agree."""
    count = c.c_uint32()
    device.call("sluice_ofu_size", c.c_uint16(ofu), c.c_uint8(table), None, c.byref(count))
    window = next(
        n
        for n in range(1, device.read(L.SHELL_REGISTERS_WINDOWS))
        if device.read(L.SHELL_REGISTERS_CAPABILITY + 4 * n) & 0xFFFF == ofu
    )
    assert device.read(window * L.WINDOW_SIZE + L.OFU_REGISTERS_USED + 4 * table) == count.value
    return count.value


def refused(device: Device, ofu: int, what: CInstruction) -> SluiceError:
    with pytest.raises(SluiceError) as caught:
        device.rule(ofu, what)
    assert str(caught.value).split(": ", 1)[1], "the error has a text"
    return caught.value


def test_populates_updates_and_deletes_a_route(device: Device) -> None:
    rule = device.rule(LPM, route("10.1.0.0/16"))
    assert used(device, LPM) == 1
    device.rule(LPM, route("10.2.0.0/16", kind=UPDATE, rule_id=rule))
    assert used(device, LPM) == 1
    device.rule(LPM, instruction(DELETE, 0, rule))
    assert used(device, LPM) == 0


def test_chosen_ids_are_all_different(device: Device) -> None:
    ids = {device.rule(LPM, route(f"10.{n}.0.0/16")) for n in range(40)}
    assert len(ids) == 40


def test_refuses_the_same_prefix_twice(device: Device) -> None:
    device.rule(LPM, route("10.1.0.0/16"))
    assert refused(device, LPM, route("10.1.0.0/16")).errno == errno.EEXIST
    device.rule(LPM, route("10.1.0.0/17"))
    assert used(device, LPM) == 2


def test_refuses_an_id_that_is_in_use(device: Device) -> None:
    device.rule(LPM, route("10.1.0.0/16", rule_id=7))
    assert refused(device, LPM, route("10.2.0.0/16", rule_id=7)).errno == errno.EEXIST
    assert used(device, LPM) == 1


@pytest.mark.parametrize("kind", [DELETE, UPDATE])
def test_says_that_a_rule_is_not_there(device: Device, kind: int) -> None:
    assert refused(device, LPM, route("10.1.0.0/16", kind=kind, rule_id=3)).errno == errno.ENOENT


def test_says_that_a_unit_is_not_there(device: Device) -> None:
    assert refused(device, 99, route("10.1.0.0/16")).errno == errno.ENOENT


@pytest.mark.parametrize(
    "mask, priority",
    [(0xFF00FF00, 16), (0xFFFF0000, 17), (0x0000FFFF, 16), (0xFFFF0000 << 32 | 0xFFFF0000, 16), (0xFFFFFFFF, 33)],
)
def test_refuses_a_mask_that_is_no_prefix(device: Device, mask: int, priority: int) -> None:
    wrong = instruction(POPULATE, 0, value=0, mask=mask, priority=priority)
    assert refused(device, LPM, wrong).errno == errno.EINVAL
    assert used(device, LPM) == 0


def test_refuses_an_exact_rule_with_a_hole_in_its_mask(device: Device) -> None:
    assert refused(device, EXACT, instruction(POPULATE, 0, value=5, mask=KEY4 ^ 2)).errno == errno.EINVAL
    device.rule(EXACT, instruction(POPULATE, 0, value=5, mask=KEY4))
    assert refused(device, EXACT, instruction(POPULATE, 0, value=5, mask=KEY4)).errno == errno.EEXIST


@pytest.mark.parametrize(
    "what",
    [
        instruction(99, 0),
        instruction(POPULATE, 2),
        instruction(POPULATE, 0, actions=[Action(200)]),
        instruction(POPULATE, 0, actions=[Action(L.ACTION_SET, 15 << 20)]),
        instruction(POPULATE, 0, actions=[Action(L.ACTION_SET_LONG)]),
        instruction(POPULATE, 0, 1 << 20),
        instruction(POPULATE, 0, actions=[Action(L.ACTION_SUB), Action(L.ACTION_OUTPUT, 4)]),
        instruction(POPULATE, 0, actions=[Action(L.ACTION_OUTPUT, L.HOST_PORT + 1)]),
        instruction(POPULATE, 0, actions=[Action(L.ACTION_REPLICATE, 0b0111_0000)]),
    ],
    ids=["kind", "table", "opcode", "field", "no edit", "id", "no lane", "no port", "no lane of a mask"],
)
def test_refuses_what_is_no_instruction(device: Device, what: CInstruction) -> None:
    assert refused(device, LPM, what).errno == errno.EINVAL
    assert used(device, LPM) == 0


@pytest.mark.parametrize(
    "action", [Action(L.ACTION_OUTPUT, 3), Action(L.ACTION_OUTPUT, L.HOST_PORT), Action(L.ACTION_REPLICATE, 0b0101_1000)]
)
def test_takes_a_rule_with_a_lane_that_is_there_or_the_host(device: Device, action: Action) -> None:
    device.rule(LPM, route("10.1.0.0/16", action))
    assert used(device, LPM) == 1


def test_a_full_table_refuses_one_more_and_keeps_the_rest(device: Device) -> None:
    entries = c.c_uint32()
    device.call("sluice_ofu_size", c.c_uint16(LPM), c.c_uint8(0), c.byref(entries), None)
    batch = (CInstruction * (entries.value + 3))(*(route(f"10.{n >> 8}.{n & 255}.0/24") for n in range(entries.value + 3)))
    results = (c.c_int * len(batch))()
    assert device.call("sluice_rule_ops_many", c.c_uint16(LPM), batch, len(batch), results) == 3
    assert list(results) == [0] * entries.value + [-errno.ENOSPC] * 3
    assert used(device, LPM) == entries.value
    device.rule(LPM, instruction(DELETE, 0, batch[17].rule.id))
    device.rule(LPM, route("192.168.0.0/24"))
    assert used(device, LPM) == entries.value


def test_edit_data_is_shared_and_given_back(device: Device) -> None:
    """200 flows to 3 neighbours need 3 entries; of as many different neighbours 253 more fit, and the next takes nothing."""

    def flow(number: int, neighbour: int) -> int:
        actions = [set_field(L.FIELD_ETH_DST, neighbour)]
        return device.rule(EXACT, instruction(POPULATE, 0, value=number, mask=KEY4, actions=actions))

    ids = [flow(n, n % 3) for n in range(200)]
    others = []
    while True:
        try:
            others.append(flow(1000 + len(others), 100 + len(others)))
        except SluiceError as error:
            assert error.errno == errno.ENOSPC
            break
    assert len(others) == 256 - 3
    before = used(device, EXACT)
    device.rule(EXACT, instruction(DELETE, 0, others[0]))
    flow(2000, 999)
    assert used(device, EXACT) == before
    for rule in ids:
        device.rule(EXACT, instruction(DELETE, 0, rule))
    for n in range(3):
        flow(3000 + n, 2000 + n)


def test_a_table_can_be_emptied_whatever_edit_data_its_rules_had(device: Device) -> None:
    for n in range(8):
        device.rule(LPM, route(f"10.1.{n}.0/24", set_field(L.FIELD_IP_SRC, (1 << 128) - 1 - n)))
    for _ in range(2):
        device.call("sluice_ofu_init", c.c_uint16(LPM))
        assert used(device, LPM) == 0
        device.rule(LPM, route("10.1.0.0/24", set_field(L.FIELD_IP_SRC, (1 << 128) - 1)))


def test_a_batch_may_empty_the_table_and_fill_it_again(device: Device) -> None:
    device.rule(LPM, route("10.1.0.0/16"))
    batch = (CInstruction * 3)(instruction(L.INSTRUCTION_INITIALIZE, 0), route("10.1.0.0/16"), route("10.2.0.0/16"))
    results = (c.c_int * 3)()
    assert device.call("sluice_rule_ops_many", c.c_uint16(LPM), batch, 3, results) == 0, list(results)
    assert used(device, LPM) == 2
    assert refused(device, LPM, route("10.2.0.0/16")).errno == errno.EEXIST


def test_the_papers_names_work_on_the_first_device(device: Device) -> None:
    names = device.library
    assert names.ofu_init(c.c_uint16(LPM)) == 0
    assert names.rule_table_ops(c.c_uint16(LPM), c.byref(route("10.7.0.0/16"))) == 0
    assert names.rule_table_ops(c.c_uint16(LPM), c.byref(route("10.7.0.0/16"))) == -errno.EEXIST
    assert names.ofu_uninit(c.c_uint16(77)) == -errno.ENOENT
    assert names.ofu_uninit(c.c_uint16(LPM)) == 0


def test_counters_of_a_rule_that_is_not_there(device: Device) -> None:
    with pytest.raises(SluiceError) as caught:
        device.rule_counters(LPM, 0, 5)
    assert caught.value.errno == errno.ENOENT


def test_random_operations_leave_what_a_dictionary_holds(device: Device) -> None:
    choose = random.Random(SEED)
    model: dict[int, str] = {}
    for _ in range(400):
        text = f"10.{choose.randrange(24)}.0.0/16"
        rule = choose.choice(list(model) or [0]) if choose.random() < 0.7 else choose.randrange(512)
        match choose.randrange(3):
            case 0 if text in model.values():
                assert refused(device, LPM, route(text)).errno == errno.EEXIST
            case 0:
                model[device.rule(LPM, route(text))] = text
            case 1 if rule not in model:
                assert refused(device, LPM, instruction(DELETE, 0, rule)).errno == errno.ENOENT
            case 1:
                device.rule(LPM, instruction(DELETE, 0, rule))
                del model[rule]
            case 2 if rule not in model:
                assert refused(device, LPM, route(text, kind=UPDATE, rule_id=rule)).errno == errno.ENOENT
            case 2 if any(text == other and at != rule for at, other in model.items()):
                assert refused(device, LPM, route(text, kind=UPDATE, rule_id=rule)).errno == errno.EEXIST
            case 2:
                device.rule(LPM, route(text, kind=UPDATE, rule_id=rule))
                model[rule] = text
    assert used(device, LPM) == len(model)


def test_threads_share_a_device(device: Device) -> None:
    """Four threads fill and empty tables while another reads counters: nobody sees an error or another's error text."""
    problems: list[str] = []

    def work(number: int) -> None:
        try:
            for n in range(24):
                text = f"172.{number}.{n}.0/24"
                rule = device.rule(LPM, route(text))
                error = refused(device, LPM, route(text))
                if error.errno != errno.EEXIST or f"rule {rule} " not in str(error):
                    problems.append(str(error))
                if n % 2:
                    device.rule(LPM, instruction(DELETE, 0, rule))
        except Exception as error:  # a thread must hand its failure over
            problems.append(repr(error))

    def read() -> None:
        for _ in range(100):
            device.counters("graph")

    threads = [*(threading.Thread(target=work, args=(n,)) for n in range(4)), threading.Thread(target=read)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not any(thread.is_alive() for thread in threads)
    assert not problems
    assert used(device, LPM) == 4 * 12


def test_a_register_outside_of_the_windows_is_refused_and_the_next_is_read(device: Device) -> None:
    with pytest.raises(SluiceError) as caught:
        device.read(0xF_F000)
    assert caught.value.errno == errno.EFAULT
    assert device.read(L.SHELL_REGISTERS_MAGIC) == L.DEVICE_MAGIC


def test_addresses_are_in_the_registers_byte_by_byte(device: Device) -> None:
    admit = device.call("sluice_window_of", c.c_uint16(L.ELEMENT_ADMIT)) * L.WINDOW_SIZE
    device.call("sluice_admit_set_mac", 2, bytes.fromhex("fedcba987654"))
    mac = admit + L.ADMIT_REGISTERS_LANE_MAC + 8 * 2
    assert (device.read(mac), device.read(mac + 4)) == (0xBA987654, 0xFEDC)
    device.call("sluice_admit_set_tunnels", bytes.fromhex("89abcdef"), bytes(range(0xF0, 0x100)))
    assert device.read(admit + L.ADMIT_REGISTERS_TUNNEL_CONTROL) == 3
    assert device.read(admit + L.ADMIT_REGISTERS_TUNNEL_IPV4) == 0xEFCDAB89
    words = [device.read(admit + L.ADMIT_REGISTERS_TUNNEL_IPV6 + 4 * n) for n in range(4)]
    assert words == [0xF3F2F1F0, 0xF7F6F5F4, 0xFBFAF9F8, 0xFFFEFDFC]
    device.call("sluice_admit_set_tunnels", None, None)
    assert device.read(admit + L.ADMIT_REGISTERS_TUNNEL_CONTROL) == 0
    device.call("sluice_admit_set_mac", 2, bytes(6))


def test_host_packets_must_have_a_size_and_a_lane(device: Device) -> None:
    for data, mask in ((b"", 1), (bytes(L.EGRESS_BYTES + 1), 1), (bytes(64), 0), (bytes(64), 1 << device.lanes)):
        with pytest.raises(SluiceError) as caught:
            device.send(data, mask)
        assert caught.value.errno == errno.EINVAL


@pytest.mark.parametrize("size", [14, 60, 1514, 1920, 1921, L.MTU_BYTES])
def test_packets_pass_the_rings_whole_both_ways(device: Device, size: int) -> None:
    """More packets than the rings have buffers, so that generations turn; chained buffers for the large ones."""
    choose = random.Random(SEED + size)
    for _ in range(700 if size == 60 else 6):
        data = choose.randbytes(size)
        assert device.lane_send(0, data)
        device.settle()
        got = device.receive()
        assert got is not None and got.data == data and got.ingress_port == 0
        device.send(data, 0b10)
        device.settle()
        left = device.lane_receive(1)
        assert left is not None and left[0] == data


@pytest.mark.parametrize(("turn", "valid"), [(0, 1), (1, 2), (5, 6), (2**32 - 2, 2**32 - 1), (2**32 - 1, 1), (2**32, 1)])
def test_a_buffer_is_there_when_it_has_the_number_of_the_rings_turn_which_is_never_0(turn: int, valid: int) -> None:
    library, shift = load(), 3
    ring = (c.c_uint8 * (L.BUFFER_SIZE << shift))()
    queue = mirror("sluice_queue")(ring=ring, shift=shift, received=(turn << shift) + 2)
    for written in (0, 1, 2, valid - 1, valid, (valid + 1) % 2**32):
        packed = L.BufferMeta(valid=written, length=60).pack()
        c.memmove(c.byref(ring, 2 * L.BUFFER_SIZE), packed, len(packed))
        assert library.sluice_queue_waits(c.byref(queue)) == (written == valid)
        assert library.sluice_queue_receive(c.byref(queue), (CPacket * 2)(), 2) == (written == valid)
        queue.held = 0


def test_counters_that_are_being_written_are_read_again_later() -> None:
    """A record whose words are of two editions; the device's memory is that of a device here that writes no further."""
    library, counters = load(), mirror("sluice_rule_counters")()
    whole = L.RuleMirror(packets=3, bytes=4, last_hit=5, packets_edition=9, bytes_edition=9, last_hit_edition=9)
    for torn in ("packets_edition", "bytes_edition", "last_hit_edition", ""):
        record = dataclasses.replace(whole, **{torn: 8}) if torn else whole
        memory = c.create_string_buffer(bytes(32) + record.pack())
        assert library.sluice_mirror_read(memory, 1, c.byref(counters)) == (-errno.EAGAIN if torn else 0)
    assert (counters.packets, counters.bytes, counters.last_hit) == (3, 4, 5)


# ---- Devices that fail


@pytest.fixture(scope="module")
def failing() -> Path:
    return build_failing()


def open_failing(path: Path | str, transport: str = "sim") -> tuple[int, str, c.c_void_p, c.CDLL]:
    library, handle = load(), c.c_void_p()
    result = library.sluice_device_open(f"{transport}:lib={path}".encode(), c.byref(handle))
    return result, library.sluice_error_text().decode(), handle, library


def test_refuses_other_layouts(failing: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAILING_HASH", "1")
    result, text, _, _ = open_failing(failing)
    assert result == -errno.EPROTO and "layouts" in text


def test_refuses_what_is_no_device(failing: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("FAILING_MAGIC", "0xdead")
    result, text, _, _ = open_failing(failing)
    assert result == -errno.ENODEV and "magic" in text
    (tmp_path / "empty.so").write_bytes(b"")
    assert open_failing(tmp_path / "empty.so")[0] == -errno.ENODEV
    assert open_failing(tmp_path / "absent.so")[0] == -errno.ENODEV
    result, text, _, _ = open_failing("libm.so.6")
    assert result == -errno.ENODEV and "libm.so.6 has no sim_model_new" in text
    library, handle = load(), c.c_void_p()
    assert library.sluice_device_open(b"usb:0", c.byref(handle)) == -errno.EINVAL


@pytest.mark.parametrize("transport", ["sim", "sim-process"])
@pytest.mark.parametrize("ring", [0, 1])
def test_a_device_that_does_not_take_a_ring_is_not_opened(
    failing: Path, monkeypatch: pytest.MonkeyPatch, ring: int, transport: str
) -> None:
    monkeypatch.setenv("FAILING_RING", str(ring))
    result, text, _, _ = open_failing(failing, transport)
    assert (result, text) == (-errno.ENOMEM, "no memory for the rings")


@pytest.mark.parametrize("transport", ["sim", "sim-process"])
@pytest.mark.parametrize("accesses", [0, 3, 7, 9, 12, 30, 45])
def test_a_device_that_stops_answering_is_an_error_and_no_hang(
    failing: Path, monkeypatch: pytest.MonkeyPatch, accesses: int, transport: str
) -> None:
    monkeypatch.setenv("FAILING_AFTER", str(accesses))
    result, text, handle, library = open_failing(failing, transport)
    if result == 0:
        result = library.sluice_rule_ops(handle, c.c_uint16(LPM), c.byref(route("10.0.0.0/8")))
        text = library.sluice_error_text().decode()
        library.sluice_device_close(handle)
    assert result == -errno.ENODEV and "does not answer" in text


@pytest.mark.parametrize("length", [0, 1, L.EGRESS_BYTES, L.EGRESS_BYTES + 1, 65535])
def test_a_length_that_cannot_be_is_cut_to_one_that_can(failing: Path, monkeypatch: pytest.MonkeyPatch, length: int) -> None:
    monkeypatch.setenv("FAILING_LENGTH", str(length))
    result, _, handle, library = open_failing(failing)
    assert result == 0
    sizes, packet = [], CPacket()
    while library.sluice_packet_receive(handle, c.byref(packet)):
        sizes.append(len(c.string_at(packet.bytes, packet.size)))
        library.sluice_packet_release(handle)
    buffers = -(-sizes[0] // L.BUFFER_DATA_SIZE)
    assert set(sizes) == {min(max(length, 1), L.EGRESS_BYTES)} and len(sizes) == -(-512 // buffers)
    library.sluice_device_close(handle)


def test_registers_that_read_all_ones_are_an_error_and_no_hang(failing: Path) -> None:
    command = [sys.executable, "-m", "host.lib.testing.broken_registers", str(failing)]
    paths = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(command, cwd=ROOT, env=paths, capture_output=True, text=True, timeout=300, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, f"hang or crash with {lines[-1]}: {done.stderr[-2000:]}"
    whole, *broken = [line for line in lines if "results" in line]
    assert all(result >= 0 for name, result, _ in whole["results"] if name != "sluice_flows_mirrored"), whole
    named = {name for name, *_ in whole["results"]}
    ones = {int(line["case"]["FAILING_ONES"]): line["results"] for line in broken if "FAILING_ONES" in line["case"]}
    assert len(ones) > 50 and len(broken) > len(ones) + 40
    allowed = {-errno.ENODEV, -errno.EPROTO, -errno.ENOSPC, -errno.ENOENT, -errno.EEXIST, -errno.EAGAIN}
    for line in broken:
        results = line["results"]
        assert all(result >= 0 or (result in allowed and text) for _, result, text in results), line
        if "FAILING_GONE" in line["case"] and int(line["case"]["FAILING_GONE"]) < 300:
            assert results[-1][1] == -errno.ENODEV and "the device is gone" in results[-1][2], line
    sizes = ["SHELL_REGISTERS_LANES", "SHELL_REGISTERS_CLOCK_KHZ", "SHELL_REGISTERS_WINDOWS", "SHELL_REGISTERS_CAPABILITY"]
    for name in sizes:
        (opened,) = ones[getattr(L, name)]
        assert opened[1] == -errno.EPROTO, (name, opened)
    for name in ("OFU_REGISTERS_ENTRIES", "OFU_REGISTERS_KEY_BITS"):
        found = {call: result for call, result, _ in ones[L.WINDOW_SIZE + getattr(L, name)]}
        assert found["sluice_ofu_init"] == -errno.EPROTO and set(found) == named, (name, found)
    for name in ("FLOW_REGISTERS_GROUPS", "FLOW_REGISTERS_GROUP_ENTRIES", "OFU_REGISTERS_LATENCY", "FLOW_REGISTERS_PUSH_RECORDS"):
        found = {call: result for call, result, _ in ones[2 * L.WINDOW_SIZE + getattr(L, name)]}
        assert found["sluice_flows_open"] == -errno.EPROTO, (name, found)


def test_a_table_that_never_answers_an_instruction_is_an_error_and_no_hang(failing: Path) -> None:
    result, _, handle, library = open_failing(failing)
    assert result == 0
    for _ in range(2):
        assert library.sluice_rule_ops(handle, c.c_uint16(LPM), c.byref(route("10.0.0.0/8"))) == -errno.ENODEV
    count = c.c_uint32(1)
    assert library.sluice_ofu_size(handle, c.c_uint16(LPM), c.c_uint8(0), None, c.byref(count)) == 0
    assert count.value == 0, "a failed call changes nothing"
    library.sluice_device_close(handle)


def test_two_threads_read_64_bit_counters_whole(failing: Path) -> None:
    result, _, handle, library = open_failing(failing)
    assert result == 0
    rounds = 200

    def read(lane: int) -> list[int]:
        seen, record = [], c.create_string_buffer(L.LaneCounters.BITS // 8)
        for _ in range(rounds):
            assert library.sluice_lane_counters_read(handle, c.c_uint(lane), record) == 0
            seen.append(L.LaneCounters.unpack(record.raw).rx_bytes)
        return seen

    with ThreadPoolExecutor(2) as pool:
        both = list(pool.map(read, range(2)))
    for lane, seen in enumerate(both):
        assert seen == [(lane << 40) + (n << 31) for n in range(rounds)]
    library.sluice_device_close(handle)

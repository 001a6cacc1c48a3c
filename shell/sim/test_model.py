# SPDX-License-Identifier: Apache-2.0
"""The model's DMA believes nothing of a from-host ring, nor of the device: what cannot be is counted and skipped, what follows is
right."""

import ctypes as c
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import sluice_layouts as L

from shell.sim.build import HERE, SMALL, build
from toolchain.simulate import GENERATED

RING, FROM_HOST, SEED = 16, 1, 20261120
HEAD = L.BUFFER_META_SIZE + L.BUFFER_KEY_SIZE


class Model:
    """A device through `sim_model.h`, with a from-host ring whose bytes the test writes."""

    def __init__(self, library: c.CDLL) -> None:
        self.library, self.next = library, 0
        self.memory = (c.c_uint8 * (RING * L.BUFFER_SIZE))()
        self.handle = c.c_void_p(library.sim_model_new())
        assert library.sim_model_ring_attach(self.handle, FROM_HOST, self.memory, RING) == 0

    def write(self, data: bytes, length: int, mask: int = 1) -> None:
        """One buffer: its first bytes, and whatever length it claims for the packet."""
        at = self.next % RING * L.BUFFER_SIZE
        meta = L.BufferMeta(length=length, buffer_length=len(data), egress_mask=mask, valid=1).pack()
        self.memory[at : at + len(meta)] = meta
        self.memory[at + HEAD : at + HEAD + len(data)] = data
        self.next += 1

    def submit(self, count: int) -> int:
        return int(self.library.sim_model_ring_submit(self.handle, count))

    def run(self) -> None:
        for _ in range(200):
            self.library.sim_model_step(self.handle, 16)
            if self.library.sim_model_idle(self.handle):
                return
        raise TimeoutError("not idle")

    def left(self, lane: int) -> list[bytes]:
        buffer, out = (c.c_uint8 * 65535)(), []
        while (size := self.library.sim_model_lane_recv(self.handle, lane, buffer, 65535, None)) >= 0:
            out.append(bytes(buffer[:size]))
        return out

    @property
    def invalid(self) -> int:
        return int(self.library.sim_model_ring_invalid(self.handle))

    def register(self, address: int) -> int:
        value = c.c_uint32()
        assert self.library.sim_model_reg_read(self.handle, address, c.byref(value)) == 0
        return value.value


@pytest.fixture
def model(power_up: int) -> Iterator[Model]:
    library = c.CDLL(str(build(SMALL)))
    library.sim_model_new.restype = c.c_void_p
    library.sim_model_idle.restype = c.c_bool
    library.sim_model_ring_sent.restype = library.sim_model_ring_invalid.restype = c.c_uint64
    made = Model(library)
    yield made
    library.sim_model_free(made.handle)


@pytest.mark.parametrize("length", [0, L.EGRESS_BYTES + 1, 65535, 3 * L.BUFFER_DATA_SIZE])
def test_a_length_that_cannot_be_is_counted_and_the_next_packet_is_right(model: Model, length: int) -> None:
    good = random.Random(SEED).randbytes(100)
    model.write(bytes(60), length)
    model.write(good, len(good), 0b0100)
    assert model.submit(2) == 0
    model.run()
    assert model.invalid == 1
    assert [model.left(lane) for lane in range(4)] == [[], [], [good], []]
    assert model.library.sim_model_ring_sent(model.handle) == 2


@pytest.mark.parametrize("mask", [0, 0b0111_0000, 1 << L.HOST_PORT])
def test_a_mask_without_a_lane_is_refused_by_the_device_and_counted(model: Model, mask: int) -> None:
    good = random.Random(SEED).randbytes(300)
    model.write(bytes(200), 200, mask)
    model.write(good, len(good), 0b1111)
    model.write(bytes(13), 13)
    assert model.submit(3) == 0
    model.run()
    assert [model.left(lane) for lane in range(4)] == [[good]] * 4
    words = [model.register(L.SHELL_REGISTERS_HOST_COUNTERS + 4 * i) for i in range(16)]
    counters = L.HostCounters.unpack(b"".join(word.to_bytes(4, "little") for word in words))
    assert (counters.from_host_packets, counters.from_host_bytes, counters.from_host_invalid) == (1, 300, 2)


def test_any_bytes_in_the_ring_do_no_harm(model: Model) -> None:
    draw = random.Random(SEED)
    for _ in range(20):
        for _ in range(RING):
            at = model.next % RING * L.BUFFER_SIZE
            model.memory[at : at + L.BUFFER_SIZE] = draw.randbytes(L.BUFFER_SIZE)
            model.next += 1
        assert model.submit(RING) == 0
        model.run()
    for lane in range(4):
        model.left(lane)
    good = draw.randbytes(1500)
    model.write(good, len(good), 0b0010)
    assert model.submit(1) == 0
    model.run()
    assert model.left(1) == [good]


def test_more_buffers_than_the_ring_has_are_refused(model: Model) -> None:
    assert model.submit(RING + 1) < 0
    assert model.library.sim_model_ring_release(model.handle, 1) < 0
    assert model.library.sim_model_ring_attach(model.handle, FROM_HOST, model.memory, 0) < 0


def test_a_device_that_is_freed_is_not_the_last_one(model: Model) -> None:
    model.library.sim_model_last.restype = c.c_void_p
    other = c.c_void_p(model.library.sim_model_new())
    assert model.library.sim_model_last() == other.value
    model.library.sim_model_free(other)
    assert model.library.sim_model_last() is None


def test_a_lane_that_does_not_listen_loses_its_own_packets_only(model: Model) -> None:
    draw = random.Random(SEED)
    model.library.sim_model_lane_listen(model.handle, 0, 0)
    packets = [draw.randbytes(1900) for _ in range(60)]
    for data in packets:
        model.write(data, len(data), 0b0011)
        assert model.submit(1) == 0
        model.library.sim_model_step(model.handle, 80)
    model.library.sim_model_step(model.handle, 500)
    assert model.left(1) == packets
    assert model.left(0) == []
    words = [model.register(L.SHELL_REGISTERS_LANE_COUNTERS + 4 * i) for i in range(16)]
    overflow = L.LaneCounters.unpack(b"".join(word.to_bytes(4, "little") for word in words)).tx_overflow
    model.library.sim_model_lane_listen(model.handle, 0, 1)
    model.run()
    kept = model.left(0)
    assert kept == packets[: len(kept)]
    assert 0 < overflow == len(packets) - len(kept)


SANITIZE = ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all", "-Wno-subobject-linkage"]


def test_what_a_device_writes_outside_of_the_hosts_memory_is_refused_counted_and_told(tmp_path: Path) -> None:
    program, wild = tmp_path / "wild_device", HERE / "testing"
    include = [f"-I{path}" for path in (wild, HERE, GENERATED)]
    warnings = ["-std=c++20", "-Wall", "-Wextra", "-Werror"]
    subprocess.run(["g++", *warnings, *SANITIZE, *include, "-o", str(program), str(wild / "wild_device.cc")], check=True)
    for seed in range(4):
        command = [str(program), str(seed), "3000"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr[-4000:]}"
        assert done.stderr.count("sim: the device was refused access to host memory: ") == 2, (
            "the first refusal of each of two devices"
        )

# SPDX-License-Identifier: Apache-2.0
"""What tests of schedulers share: records of flows, a process block in Python, and a judge that runs one after the other."""

from __future__ import annotations

import random
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge

from testing.cocotb.channel import Sink, Source, stalls

Record = tuple[int, int]  # address, payload
Change = Callable[[int, int], int]  # state and payload to the next state


def mixes(address_bits: int, payload_bits: int) -> dict[str, Callable[[int], list[Record]]]:
    """Traffic by name: so many records each. Addresses 0, 3, 5, 6, ... fold into the same bit."""
    flows = 2**address_bits
    even = [address for address in range(flows) if address.bit_count() % 2 == 0]

    def records(address: Callable[[int], int]) -> Callable[[int], list[Record]]:
        return lambda count: [(address(n), random.getrandbits(payload_bits)) for n in range(count)]

    return {
        "one flow": records(lambda n: flows - 1),
        "two flows in turn": records(lambda n: n % 2),
        "new flows": records(lambda n: n % flows),
        "any flow": records(lambda n: random.randrange(flows)),
        "few flows": records(lambda n: random.randrange(4)),
        "an elephant": records(lambda n: 1 if random.random() < 0.6 else random.randrange(flows)),
        "addresses that collide": records(lambda n: random.choice(even)),
    }


def in_sequence(records: Sequence[Record], change: Change) -> list[tuple[int, int, int]]:
    """Address, payload and the state that each record sees, where one is finished before the next begins."""
    states: defaultdict[int, int] = defaultdict(int)
    seen = []
    for address, payload in records:
        seen.append((address, payload, states[address]))
        states[address] = change(states[address], payload)
    return seen


def by_flow(results: Sequence[tuple[int, int, int]]) -> dict[int, list[tuple[int, int, int]]]:
    """Results of each flow, in their order."""
    flows: defaultdict[int, list[tuple[int, int, int]]] = defaultdict(list)
    for result in results:
        flows[result[0]].append(result)
    return flows


class Bench:
    """A scheduler with its process block, a source and a sink. A result is the record with the state that it saw."""

    def __init__(self, dut: Any, payload_bits: int, state_bits: int, change: Change, in_stalls: float, out_stalls: float) -> None:
        self.dut, self.payload_bits, self.state_bits, self.change = dut, payload_bits, state_bits, change
        self.source, self.sink = Source(dut, "in", stalls(in_stalls)), Sink(dut, "out", stalls(out_stalls))
        self.issues: list[tuple[int, int]] = []  # cycle, address
        cocotb.start_soon(self._process())

    def send(self, records: Sequence[Record]) -> None:
        self.source.send(*(address << self.payload_bits | payload for address, payload in records))

    async def results(self, count: int) -> list[tuple[int, int, int]]:
        """Address, payload and state seen of `count` results; there is not one more."""
        await self.sink.wait_for(count)
        for _ in range(40):
            await RisingEdge(self.dut.clk_i)
        assert len(self.sink.received) == count
        return [(*self._split(word >> self.state_bits), word % 2**self.state_bits) for word in self.sink.received]

    def _split(self, record: int) -> Record:
        return record >> self.payload_bits, record % 2**self.payload_bits

    async def _process(self) -> None:
        dut = self.dut
        inside: deque[tuple[int, int] | None] = deque([None] * int(dut.Latency.value))
        cycle = 0
        while True:
            self._done(inside.popleft())
            await ReadOnly()
            issued = dut.issue_valid_o.value == 1 and dut.rst_i.value == 0
            inside.append((int(dut.issue_data_o.value), int(dut.issue_state_o.value)) if issued else None)
            if issued:
                self.issues.append((cycle, int(dut.issue_data_o.value) >> self.payload_bits))
            await RisingEdge(dut.clk_i)
            cycle += 1

    def _done(self, record_and_state: tuple[int, int] | None) -> None:
        """Drives new state and result; anything where nothing is done."""
        state, result = random.getrandbits(self.state_bits), random.getrandbits(len(self.dut.done_result_i))
        if record_and_state is not None:
            record, seen = record_and_state
            state, result = self.change(seen, self._split(record)[1]), record << self.state_bits | seen
        if hasattr(self.dut, "done_state_i"):
            self.dut.done_state_i.value = state
        self.dut.done_result_i.value = result


async def cycles_until(dut: Any, condition: Callable[[], bool], limit: int = 20_000) -> int:
    """Cycles that pass before it holds. Raises TimeoutError."""
    for cycle in range(limit):
        if condition():
            return cycle
        await RisingEdge(dut.clk_i)
    raise TimeoutError(f"not in {limit} cycles")

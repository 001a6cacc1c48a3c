# SPDX-License-Identifier: Apache-2.0
"""sh_register_router: every request is answered once, by the right window, whatever the windows do."""

import cocotb
from cocotb.triggers import ReadOnly, RisingEdge
from sluice_layouts import WINDOW_SIZE, RegisterRequest, RegisterResponse

from testing.cocotb.channel import start
from toolchain.simulate import simulate

WINDOWS, PATIENCE = 4, 40


def test_register_router() -> None:
    simulate("sh_register_router", __file__, {"Windows": WINDOWS, "Patience": PATIENCE})


class Bench:
    """Windows that answer after `delay[n]` cycles with n and the address; None: never."""

    def __init__(self, dut):
        self.dut = dut
        self.delay = [0, 1, 3, 10]
        self.taken, self.answers, self.now = [], [], 0
        dut.request_valid_i.value = 0
        dut.window_reset_i.value = 0
        dut.window_request_ready_i.value = 0
        dut.window_response_valid_i.value = 0
        dut.window_response_i.value = 0

    async def start(self):
        await start(self.dut)
        cocotb.start_soon(self._windows())

    async def _windows(self):
        due = {}
        while True:
            self.dut.window_request_ready_i.value = (1 << WINDOWS) - 1
            valid = response = 0
            for window, (at, address) in list(due.items()):
                if self.now >= at:
                    valid |= 1 << window
                    response |= RegisterResponse(data=window << 24 | address).to_int() << window * RegisterResponse.BITS
                    del due[window]
            self.dut.window_response_valid_i.value = valid
            self.dut.window_response_i.value = response
            await ReadOnly()
            offered = int(self.dut.window_request_valid_o.value)
            assert offered & (offered - 1) == 0, "one window at a time"
            assert not offered & int(self.dut.window_reset_i.value), "nothing is offered to a window in reset"
            if self.dut.response_valid_o.value == 1:
                self.answers.append(RegisterResponse.from_int(int(self.dut.response_o.value)))
            await RisingEdge(self.dut.clk_i)
            self.now += 1
            for window in range(WINDOWS):
                if offered >> window & 1:
                    address = RegisterRequest.from_int(int(self.dut.window_request_o.value)).address
                    self.taken.append((window, address))
                    if self.delay[window] is not None:
                        due[window] = (self.now + self.delay[window], address)

    async def ask(self, address, write=0):
        """One request; its answer. Nothing may be answered twice."""
        before = len(self.answers)
        self.dut.request_i.value = RegisterRequest(write=write, address=address, data=5).to_int()
        self.dut.request_valid_i.value = 1
        while True:
            await ReadOnly()
            taken = self.dut.request_ready_o.value == 1
            await RisingEdge(self.dut.clk_i)
            if taken:
                break
        self.dut.request_valid_i.value = 0
        for _ in range(4 * PATIENCE):
            if len(self.answers) > before:
                assert len(self.answers) == before + 1
                return self.answers[-1]
            await RisingEdge(self.dut.clk_i)
        raise AssertionError("no answer")


def is_error(answer):
    return answer == RegisterResponse(error=1)


@cocotb.test()
async def each_window_answers_its_own_requests(dut):
    bench = Bench(dut)
    await bench.start()
    for address in (0x0, 0x1004, 0x2FFC, 0x3010, 0x0FFC, 0x3000):
        window = address // WINDOW_SIZE
        assert await bench.ask(address) == RegisterResponse(data=window << 24 | address)
        assert bench.taken[-1] == (window, address)


@cocotb.test()
async def an_address_without_a_window_or_between_words_is_an_error_and_reaches_nobody(dut):
    bench = Bench(dut)
    await bench.start()
    for address in (0x4000, 0xFFFFC, 0x1001, 0x2002, 0x10000):
        assert is_error(await bench.ask(address, write=1))
    assert bench.taken == []
    assert not is_error(await bench.ask(0x1000))


@cocotb.test()
async def a_window_that_does_not_answer_is_dead_and_its_late_answer_goes_nowhere(dut):
    bench = Bench(dut)
    await bench.start()
    bench.delay[2] = 2 * PATIENCE
    began = bench.now
    assert is_error(await bench.ask(0x2000))
    assert PATIENCE <= bench.now - began <= PATIENCE + 8
    bench.delay[2] = 0
    assert is_error(await bench.ask(0x2000)), "dead"
    for _ in range(30):
        assert await bench.ask(0x3008) == RegisterResponse(data=3 << 24 | 0x3008)
    assert bench.taken.count((2, 0x2000)) == 1
    dut.window_reset_i.value = 0b0100
    await RisingEdge(dut.clk_i)
    dut.window_reset_i.value = 0
    await RisingEdge(dut.clk_i)
    assert await bench.ask(0x2000) == RegisterResponse(data=2 << 24 | 0x2000), "its reset brings it back"


@cocotb.test()
async def a_window_in_reset_answers_errors_and_works_after_it(dut):
    bench = Bench(dut)
    await bench.start()
    bench.delay[1] = None
    asked = cocotb.start_soon(bench.ask(0x1000))
    for _ in range(6):
        await RisingEdge(dut.clk_i)
    dut.window_reset_i.value = 0b0010
    began = bench.now
    assert is_error(await asked), "the request it forgot"
    assert bench.now - began <= 4, "at once"
    assert is_error(await bench.ask(0x1004))
    assert not is_error(await bench.ask(0x0))
    dut.window_reset_i.value = 0
    bench.delay[1] = 2
    await RisingEdge(dut.clk_i)
    assert await bench.ask(0x1008) == RegisterResponse(data=1 << 24 | 0x1008)
    assert (1, 0x1004) not in bench.taken


@cocotb.test()
async def a_reset_in_any_cycle_of_a_request_answers_it(dut):
    bench = Bench(dut)
    await bench.start()
    bench.delay[1] = None
    for wait in range(8):
        asked = cocotb.start_soon(bench.ask(0x1000))
        for _ in range(wait):
            await RisingEdge(dut.clk_i)
        dut.window_reset_i.value = 0b0010
        began = bench.now
        assert is_error(await asked)
        assert bench.now - began <= 6
        dut.window_reset_i.value = 0
        await RisingEdge(dut.clk_i)
    bench.delay[1] = 2
    assert await bench.ask(0x1008) == RegisterResponse(data=1 << 24 | 0x1008)


@cocotb.test()
async def a_reset_leaves_no_request_without_an_answer(dut):
    """Whenever the reset begins and however long it lasts: a request that was taken is answered, and none is taken meanwhile."""
    bench = Bench(dut)
    await bench.start()
    bench.delay = [0, 2, 5, 12]
    outcomes = set()
    for turn in range(160):
        asked = cocotb.start_soon(bench.ask(turn % WINDOWS << 12))
        for _ in range(turn // 8):
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 1
        for _ in range(4):
            await ReadOnly()
            assert dut.request_ready_o.value == 0
            await RisingEdge(dut.clk_i)
        dut.rst_i.value = 0
        outcomes.add(bool(is_error(await asked)))
        for _ in range(16):  # answers that windows still owe
            await RisingEdge(dut.clk_i)
    assert outcomes == {True, False}
    assert not is_error(await bench.ask(0x1000))


@cocotb.test()
async def a_request_that_is_there_during_the_reset_is_answered_after_it(dut):
    bench = Bench(dut)
    await bench.start()
    dut.rst_i.value = 1
    asked = cocotb.start_soon(bench.ask(0x2004))
    for _ in range(6):
        await RisingEdge(dut.clk_i)
    assert bench.answers == [] and bench.taken == []
    dut.rst_i.value = 0
    assert await asked == RegisterResponse(data=2 << 24 | 0x2004)

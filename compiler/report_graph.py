# SPDX-License-Identifier: Apache-2.0
"""What became of a configuration in hardware: how often each channel can move a token, the slowest element, the longest way.

The rates are bounds, those of iterations that follow each other without a pause: an element that drops or waits moves fewer tokens.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compiler.backends.sv_graph import BLOCK_DEPTH, Store, end_name, rejoins, store_of
from compiler.compile import Compiled
from compiler.frontend.typed import Channel, Endpoint, Program

FIFO_LATENCY = {False: 2, True: 3}  # cycles: LUT RAM, block RAM (rtl/chan/sl_fifo.sv)


def configuration(program: Program, compiled: Mapping[str, Compiled]) -> dict[str, Any] | None:
    """The figures of a configuration, or None where the file has none. Times in cycles of the clock and ns."""
    device = {i.name: compiled[i.element.name] for i in program.instances if not i.on_host}
    if not device:
        return None
    clock = next(iter(device.values())).plan.clock
    ways_meet = rejoins(program)
    slowest = max(device, key=lambda name: device[name].token_interval)
    interval = device[slowest].token_interval
    order, back = _order(program)
    latency, path, stores = _longest(program, device, ways_meet, order, back)
    return {
        "instances": [
            {"name": i.name, "element": i.element.name, "place": "host" if i.on_host else "device"} for i in program.instances
        ],
        "channels": [
            _channel(program, channel, device, ways_meet) | {"closes_loop": channel in back} for channel in program.channels
        ],
        "loops": [_loop(program, channel) for channel in back],
        "slowest": {"instance": slowest, "element": device[slowest].element.name, "cycles_per_token": interval},
        "cycles_per_token": interval,  # where each token visits every element
        "mtokens_per_second": round(1000 / clock / interval, 1),
        "latency": {"cycles": latency, "ns": round(latency * clock, 1), "path": path, "packets_stored": stores},
    }


def _interval(end: Endpoint, device: Mapping[str, Compiled]) -> int:
    return device[end.instance].token_interval if end.instance in device else 1


def _channel(program: Program, channel: Channel, device: Mapping[str, Compiled], ways_meet: bool) -> dict[str, Any]:
    ends = (channel.source, channel.target)
    store, depth = store_of(channel, ways_meet)
    return {
        "from": end_name(program, channel.source, True),
        "to": end_name(program, channel.target, False),
        "source": channel.source.instance or end_name(program, channel.source, True),
        "target": channel.target.instance or end_name(program, channel.target, False),
        "bits": channel.type.bits,
        "store": store.value,
        "depth": depth,
        "latency_cycles": _latency(store, depth),
        "cycles_per_token": max(_interval(end, device) for end in ends),
    }


def _latency(store: Store, depth: int) -> int:
    """Cycles from a token's entering to its being there; of packets, their own length is to be added."""
    return 0 if store is Store.REGISTER else FIFO_LATENCY[store is Store.PACKETS or depth >= BLOCK_DEPTH]


def _order(program: Program) -> tuple[list[str], list[Channel]]:
    """Instances, each behind those that send to it, and the channels that close a loop, which had to be left out for that."""
    order: list[str] = []
    back: list[Channel] = []
    state: dict[str, bool] = {}  # False: on the way down from it; True: done

    def visit(name: str) -> None:
        state[name] = False
        for channel in program.channels:
            if channel.source.instance == name and channel.target.instance:
                if channel.target.instance not in state:
                    visit(channel.target.instance)
                elif not state[channel.target.instance]:
                    back.append(channel)
        state[name] = True
        order.insert(0, name)

    entries = [channel.target.instance for channel in program.channels if not channel.source.instance and channel.target.instance]
    for name in [*entries, *(instance.name for instance in program.instances)]:
        if name not in state:
            visit(name)
    return order, back


Way = tuple[int, list[str], int]  # cycles, instances, channels that store whole packets


def _longest(program: Program, device: Mapping[str, Compiled], ways_meet: bool, order: list[str], back: list[Channel]) -> Way:
    """The longest way through the device; a channel that closes a loop is not followed."""
    best: dict[str, Way] = {}
    for name in order:
        if name not in device:
            continue
        ways: list[Way] = [(0, [], 0)]
        for channel in program.channels:
            if channel.target.instance == name and channel not in back:
                store, depth = store_of(channel, ways_meet)
                cycles, path, stores = best.get(channel.source.instance, (0, [], 0))
                ways.append((cycles + _latency(store, depth), path, stores + (store is Store.PACKETS)))
        cycles, path, stores = max(ways, key=lambda way: way[0])
        best[name] = (cycles + device[name].plan.latency, [*path, name], stores)
    leaving = [
        (cycles + _latency(*store_of(channel, ways_meet)), path, stores + (store_of(channel, ways_meet)[0] is Store.PACKETS))
        for channel in program.channels
        if channel.target.instance not in device
        for cycles, path, stores in [best.get(channel.source.instance, (0, [], 0))]
    ]
    return max([*best.values(), *leaving], key=lambda way: way[0])


def text(found: dict[str, Any]) -> str:
    """The figures of a configuration, for people."""
    slowest, latency = found["slowest"], found["latency"]
    lines = [
        f"the configuration: {_cycles(found['cycles_per_token'])} per token if each token visits every element, "
        f"{found['mtokens_per_second']:g} million tokens per second",
        f"  slowest: {slowest['instance']} ({slowest['element']})"
        if found["cycles_per_token"] > 1
        else "  every element takes one token per cycle",
        f"  latency: {_cycles(latency['cycles'])} ({latency['ns']:g} ns) along {' -> '.join(latency['path'])}"
        + (f", plus the length of a packet for each of {latency['packets_stored']} '=>'" if latency["packets_stored"] else ""),
        "  channels, cycles per token:",
    ]
    width = max((len(f"{c['from']} -> {c['to']}") for c in found["channels"]), default=0)
    for channel in found["channels"]:
        store = channel["store"] if not channel["depth"] else f"{channel['store']} of {channel['depth']}"
        lines.append(f"    {channel['from'] + ' -> ' + channel['to']:{width}}  {channel['cycles_per_token']}  {store}")
    lines += [f"  {loop_text(loop)}" for loop in found["loops"]]
    return "\n".join(lines)


def _loop(program: Program, closing: Channel) -> dict[str, Any]:
    """A loop by the channel that closes it; `drops`: each way round it has a channel that drops what it has no room for."""
    reached, ways = {closing.target.instance}, [closing.target.instance]
    while ways:
        name = ways.pop()
        for channel in program.channels:
            following = channel.target.instance
            if channel.source.instance == name and not channel.lossy and following and following not in reached:
                reached.add(following)
                ways.append(following)
    name = f"{end_name(program, closing.source, True)} -> {end_name(program, closing.target, False)}"
    return {"closed_by": name, "drops": closing.lossy or closing.source.instance not in reached}


def loop_text(loop: dict[str, Any]) -> str:
    """Whether a loop can deadlock, for people."""
    keeps = (
        "a channel with '=>' drops what does not fit, so the loop cannot deadlock"
        if loop["drops"]
        else "if more tokens enter than leave, its channels fill up and it deadlocks; a '=>' in the loop drops packets instead"
    )
    return f"the loop closed by {loop['closed_by']}: {keeps}"


def _cycles(count: int) -> str:
    return f"{count} cycle{'s' if count != 1 else ''}"

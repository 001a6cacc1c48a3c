# SPDX-License-Identifier: Apache-2.0
"""`sluice agent`: a device's programmable pipeline as an OpenFlow 1.3 switch. `sluice table`: its flows, by hand."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from host.agent.agent import Agent
from host.agent.channel import ChannelError
from host.agent.device_channel import open_device
from host.agent.local import ask
from host.agent.message_channel import open_udp
from host.agent.pipeline import Pipeline
from host.agent.switch import RATE, Switch
from toolchain import ROOT

STATE = ROOT / "build" / "agent"
SOCKET = "api.sock"
StateOption = Annotated[Path, typer.Option("--state", help="folder of the agent: what it keeps over a restart, and its socket")]
JsonOption = Annotated[bool, typer.Option("--json", help="print JSON")]


def controllers(texts: list[str]) -> list[tuple[str, int]]:
    """HOST:PORT, or HOST for the port 6653."""
    found = []
    for text in texts:
        host, colon, port = text.rpartition(":") if not text.endswith("]") else (text, "", "")
        if colon and not port.isdigit():
            raise typer.BadParameter(f"controller {text!r}; hint: 192.0.2.1:6653, [2001:db8::1]:6653")
        found.append(((host if colon else text).strip("[]"), int(port) if colon else 6653))
    return found


def agent(
    device: str = typer.Option(
        "sim:pipeline_units=2",
        help="sim or functional, with :NAME=NUMBER,... of its sizes; udp:ADDRESS[,key=FILE]: by message packets",
    ),
    lane: list[str] = typer.Option([], help="connection of each lane, e.g. af_packet:eth1 or tap:sl0; default: none"),
    controller: list[str] = typer.Option([], help="HOST:PORT of a controller; several: all are connected"),
    datapath_id: str = typer.Option("1", help="the switch's number, e.g. 0x10"),
    rate: float = typer.Option(RATE, min=1, help="packets to the controllers a second"),
    state: StateOption = STATE,
    json_output: JsonOption = False,
) -> None:
    """Run a device's programmable pipeline as an OpenFlow 1.3 switch.

    Connects to the controllers and keeps trying. Tables are the pipeline's units, ports its lanes from 1 on. What the device
    cannot do is answered with OpenFlow's error. While it runs, `sluice table` shows and changes flows. Ctrl-C stops it; traffic
    of a device of its own goes on by the last program. See docs/guide/agent.md."""
    console = Console(stderr=True)
    logging.basicConfig(format="agent: %(message)s", level=logging.INFO)
    where = controllers(controller)
    state.mkdir(parents=True, exist_ok=True)
    try:
        channel = (
            open_udp(device.removeprefix("udp:"))
            if device.startswith("udp:")
            else open_device(device, lane or ["none"] * 4, lambda text: console.log(text, markup=False))
        )
        switch = Switch(Pipeline(channel, state / "state"), int(datapath_id, 0), rate)
    except (ChannelError, ValueError) as error:
        console.print(f"agent: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from error
    made = {"tables": switch.tables, "ports": switch.lanes, "flows": len(switch.flows.by_key), "socket": str(state / SOCKET)}
    print(json.dumps(made) if json_output else f"agent: {switch.tables} tables, {switch.lanes} ports", flush=True)
    try:
        with contextlib.suppress(asyncio.CancelledError, KeyboardInterrupt):
            asyncio.run(_until_ended(Agent(switch, where, state / SOCKET)))
    except ExceptionGroup as errors:
        if errors.subgroup(OSError) is None:
            raise
        console.print(f"agent: {errors.exceptions[0]}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(1) from errors
    finally:
        channel.close()


async def _until_ended(running: Agent) -> None:
    task = asyncio.ensure_future(running.run())
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    await task


table = typer.Typer(no_args_is_help=True, help="Show and change the flows of a running agent; see its packets to the controllers.")


def _answers(state: Path, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    try:
        for answer in ask(state / SOCKET, request):
            if "error" in answer:
                print(f"table: {answer['error']}", flush=True)
                raise typer.Exit(1)
            yield answer
    except OSError as error:
        print(f"table: no agent answers at {state / SOCKET}: {error.strerror}; hint: sluice agent --state {state}")
        raise typer.Exit(1) from error


def _say(answer: dict[str, Any], text: str, json_output: bool) -> None:
    print(json.dumps(answer) if json_output else text, flush=True)


@table.command()
def dump(state: StateOption = STATE, json_output: JsonOption = False) -> None:
    """Print the flows, in the form that `add` takes."""
    for answer in _answers(state, {"do": "dump"}):
        _say(answer, "\n".join(answer["flows"]), json_output)


@table.command()
def add(flow: str, state: StateOption = STATE, json_output: JsonOption = False) -> None:
    """Add a flow, e.g. `table=0,priority=10,in_port=1,actions=output:2`.

    Fields have OpenFlow's names (eth_dst, eth_type, ipv4_dst, tcp_dst, ...) and may have a mask, VALUE/MASK or ADDRESS/LENGTH.
    Actions: output:PORT (a number, ALL, FLOOD, IN_PORT, CONTROLLER), set_field:FIELD=VALUE, set_ttl:NUMBER, dec_ttl, goto:TABLE,
    drop."""
    for answer in _answers(state, {"do": "add", "flow": flow}):
        _say(answer, f"{answer['flows']} flows", json_output)


@table.command("del")
def delete(
    flow: Annotated[str, typer.Argument(help="fields of the flows to delete; none: all flows")] = "",
    strict: Annotated[bool, typer.Option("--strict", help="only the flow with exactly this match and priority")] = False,
    state: StateOption = STATE,
    json_output: JsonOption = False,
) -> None:
    """Delete the flows that match a text without actions, e.g. `table=0,in_port=1`."""
    for answer in _answers(state, {"do": "del", "flow": flow, "strict": strict}):
        _say(answer, f"{answer['changed']} deleted, {answer['flows']} flows", json_output)


@table.command()
def restore(state: StateOption = STATE, json_output: JsonOption = False) -> None:
    """Give the device back to the flows, from a program of `./sluice deploy --device agent`."""
    for answer in _answers(state, {"do": "restore"}):
        _say(answer, f"{answer['flows']} flows", json_output)


@table.command()
def status(state: StateOption = STATE, json_output: JsonOption = False) -> None:
    """Print tables, ports, controllers and counters."""
    for answer in _answers(state, {"do": "status"}):
        lines = [f"{answer['tables']} tables, {answer['ports']} ports, device {'ok' if answer['device_ok'] else 'failed'}"]
        lines += [f"program {answer['program']}, in the place of the flows"] if answer["program"] else []
        lines += [f"{one['controller']} {'connected' if one['connected'] else 'not connected'}" for one in answer["controllers"]]
        lines += [f"{name} {count:,}" for name, count in sorted(answer["counters"].items())]
        _say(answer, "\n".join(lines), json_output)


@table.command("packet-in")
def packet_in(
    follow: Annotated[bool, typer.Option("--follow", help="go on with new ones")] = False,
    state: StateOption = STATE,
    json_output: JsonOption = False,
) -> None:
    """Print the last packets that went to the controllers: port, table, why, bytes."""
    with contextlib.suppress(KeyboardInterrupt):
        for one in _answers(state, {"do": "packets", "follow": follow}):
            _say(one, f"port {one['port']} table {one['table']} {one['reason']} {one['data']}", json_output)

# SPDX-License-Identifier: Apache-2.0
"""`sluice signal`: a signal to an element of the program in front of the flow table of a device that a DPDK program has open."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import typer

from compiler.compile import graph_of
from host.program import InputError
from host.program.device_run import answer, message
from host.program.run import call_of
from testing.telemetry import ask
from tools.cli.programs import hardware

WORD = 0xFFFFFFFF


def signal(
    file: Path = typer.Argument(help="the program that the device was built from"),
    signals: list[str] = typer.Argument(metavar="SIGNAL...", help="instance.name:argument,..."),
    port: int = typer.Option(0, help="DPDK port number of the device"),
    prefix: str = typer.Option("rte", "--file-prefix", help="--file-prefix of the DPDK program"),
    run_folder: Path = typer.Option(Path("/var/run"), help="RUNTIME_DIRECTORY of the DPDK program"),
    json_output: bool = typer.Option(False, "--json", help="print the answers as JSON"),
) -> None:
    """Send signals to elements of the device that a running DPDK program, such as Open vSwitch, has open, and print the answers.

    `./sluice signal configs/guard/guard.sl flood.set_source_limit:1000,50000 flood.get_limited` after `./sluice build
    configs/guard/guard.sl --target device --flow-table`. It uses DPDK telemetry."""
    program, compiled = hardware(file, 200.0)
    graph = graph_of(file.stem, program, compiled)
    answers: list[dict[str, str | int]] = []
    for text in signals:
        try:
            call = call_of(program, text)
        except InputError as error:
            raise typer.BadParameter(str(error)) from error
        words = ",".join(hex(word & WORD) for word in message(graph, compiled, call))
        try:
            reply = ask(run_folder, prefix, f"/net_sluice/signal,{port},{words}")
        except OSError as error:
            where = f"{run_folder / 'dpdk' / prefix}: {error.strerror}; see --file-prefix and --run-folder"
            print(f"signal: no DPDK program listens in {where}", file=sys.stderr)
            raise typer.Exit(1) from error
        if not isinstance(reply, list):
            print(f"signal: {text}: {reply or f'port {port} does not belong to this driver'}", file=sys.stderr)
            raise typer.Exit(1)
        try:
            answers.append({"signal": text, "answer": answer(call, reply)})
        except RuntimeError as error:
            print(f"signal: {error}", file=sys.stderr)
            raise typer.Exit(1) from error
    if json_output:
        print(json.dumps(answers))
        return
    for one in answers:
        print(f"{one['signal']}: {one['answer']}")

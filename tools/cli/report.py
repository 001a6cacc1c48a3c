# SPDX-License-Identifier: Apache-2.0
"""`sluice report`: what a program becomes in hardware, element by element, and the configuration as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from compiler import report as figures
from compiler import report_graph, report_html
from compiler.layouts import write
from tools.cli.programs import hardware


def report(
    file: Path = typer.Argument(..., help="a program: elements, a configuration, or both"),
    clock: float = typer.Option(200.0, "--clock", help="MHz to schedule for"),
    json_output: bool = typer.Option(False, "--json", help="figures as JSON"),
    html: Path = typer.Option(None, help="write a page with the graph and the figures to this file"),
) -> None:
    """Report the hardware of a program: initiation interval (II), stages, where each state lives and why.

    Where an element takes more than one cycle a token: the way round which its state goes, by source line, and what to write
    instead. Of a configuration also: cycles a token on each channel, the slowest element, and the latency of the longest way.

    `./sluice report my.sl --html my.html` draws it; the page needs nothing else. Exit status 1: the program has an error, or cannot
    be hardware."""
    program, compiled = hardware(file, clock, json_output)
    elements = [figures.element(element) for element in compiled.values()]
    graph = report_graph.configuration(program, compiled)
    if html:
        write(html, report_html.page(file.name, elements, graph))
    if json_output:
        print(json.dumps({"file": str(file), "elements": elements, "configuration": graph}, indent=1))
        return
    print("\n".join([*(figures.text(element) for element in elements), *([report_graph.text(graph)] if graph else [])]))
    if html:
        print(html)

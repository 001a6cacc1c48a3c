# SPDX-License-Identifier: Apache-2.0
"""`sluice report`: the hardware of a program, element by element, and of the configuration as a whole."""

from __future__ import annotations

import json
from pathlib import Path

import typer

from compiler import report as figures
from compiler import report_graph, report_html
from compiler.certificate import certify
from tools.cli.programs import hardware, save


def report(
    file: Path = typer.Argument(..., help="a program: elements, a configuration, or both"),
    clock: float = typer.Option(200.0, "--clock", help="target clock in MHz"),
    prove: bool = typer.Option(
        False, "--prove", help="prove each II on the SystemVerilog, and list its stalls; takes seconds per element"
    ),
    json_output: bool = typer.Option(False, "--json", help="print the figures as JSON"),
    html: Path = typer.Option(None, help="write a page with the graph and the figures to this file"),
) -> None:
    """Report the hardware of a program: initiation interval (II), stages, where each state lives and why.

    For an element that takes more than one cycle per token: the critical loop through its state, by source line, and what to
    write instead. For a configuration also: cycles per token of each channel, the slowest element, and the longest latency.

    `./sluice report my.sl --html my.html` draws it on a self-contained page. Exit status 1: the program has an error,
    hardware does not support it, or --prove refutes an II."""
    program, compiled = hardware(file, clock, json_output)
    elements = [figures.element(element) for element in compiled.values()]
    certificates = [certify(element) for element in compiled.values()] if prove else []
    for figure, certificate in zip(elements, certificates, strict=False):
        figure["certificate"] = certificate.to_json()
    graph = report_graph.configuration(program, compiled)
    if html:
        save(html, report_html.page(file.name, elements, graph))
    if json_output:
        print(json.dumps({"file": str(file), "elements": elements, "configuration": graph}, indent=1))
    else:
        proofs = [certificate.text for certificate in certificates]
        texts = [*(figures.text(element) for element in elements), *([report_graph.text(graph)] if graph else []), *proofs]
        print("\n".join(texts + ([str(html)] if html else [])))
    if any(certificate.failure for certificate in certificates):
        raise typer.Exit(1)

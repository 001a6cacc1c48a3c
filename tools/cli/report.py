# SPDX-License-Identifier: Apache-2.0
"""`sluice report`: what a program becomes in hardware, element by element, and the configuration as a whole."""

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
    clock: float = typer.Option(200.0, "--clock", help="MHz to schedule for"),
    prove: bool = typer.Option(
        False, "--prove", help="prove each II on the SystemVerilog, and say what stalls; seconds an element"
    ),
    json_output: bool = typer.Option(False, "--json", help="figures as JSON"),
    html: Path = typer.Option(None, help="write a page with the graph and the figures to this file"),
) -> None:
    """Report the hardware of a program: initiation interval (II), stages, where each state lives and why.

    Where an element takes more than one cycle a token: the way round which its state goes, by source line, and what to write
    instead. Of a configuration also: cycles a token on each channel, the slowest element, and the latency of the longest way.

    `./sluice report my.sl --html my.html` draws it; the page needs nothing else. Exit status 1: the program has an error, cannot
    be hardware, or --prove finds an II that does not hold."""
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

# SPDX-License-Identifier: Apache-2.0
"""Packets made with scapy say which MAC address they go to.

For an `Ether` without `dst`, scapy asks the machine's network: it sends a neighbour solicitation and waits a second for the answer.
What the packet holds then depends on the machine.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from pathlib import Path


def _without(path: str, text: str) -> Iterator[str]:
    calls = [node for node in ast.walk(ast.parse(text, path)) if isinstance(node, ast.Call)]
    for call in sorted(calls, key=lambda call: call.lineno):
        if ast.unparse(call.func).rpartition(".")[2] != "Ether" or call.args:
            continue
        if not {"dst", None} & {keyword.arg for keyword in call.keywords}:  # None: of **
            yield f"{path}:{call.lineno}: Ether without dst: scapy would ask the network for it"


def wrong(root: Path, paths: Iterable[str]) -> list[str]:
    """Calls of `Ether` that neither parse bytes nor give a destination, as `path:line: ...`."""
    return [found for path in paths for found in _without(path, (root / path).read_text())]

# SPDX-License-Identifier: Apache-2.0
"""Folds constants and applies the identities of one node (`compiler/ir/local.py`) to a fixed point; equal nodes become one."""

from __future__ import annotations

from compiler.ir.ir import ElementIr
from compiler.ir.rewrite import rewrite, same


def run(element: ElementIr) -> ElementIr:
    """Nodes are made anew by the builder, which simplifies."""
    return rewrite(element, same)

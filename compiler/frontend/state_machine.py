# SPDX-License-Identifier: Apache-2.0
"""`.state_machine`: parsers, expanded over all paths."""

from __future__ import annotations

from compiler.frontend.statements import Statements


class StateMachines(Statements):
    """Adds parsers to the statements."""

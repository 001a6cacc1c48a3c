# SPDX-License-Identifier: Apache-2.0
"""A program in the element language for the device of an agent."""

from __future__ import annotations

from pathlib import Path

from compiler.compile import HardwareError
from compiler.frontend.program import load
from compiler.frontend.source import Diagnostics, Source
from compiler.overlay.deploy import Deployment, deployed
from compiler.overlay.place import Sizes


class DeployError(Exception):
    """The program is wrong, or not one for this device; the text has the messages of the compiler."""


def compiled(file: Path, rules: Path | None, sizes: Sizes, lanes: int) -> Deployment:
    """What a program and its rules become in a device of these sizes. Raises DeployError."""
    diagnostics = Diagnostics()
    program = load(file, diagnostics)
    if program is not None:
        try:
            text = None if rules is None else Source(str(rules), rules.read_text(encoding="utf-8"))
            return deployed(program, text, sizes, lanes)
        except HardwareError as error:
            error.report(diagnostics)
        except (OSError, UnicodeDecodeError) as error:
            raise DeployError(f"cannot read {rules}: {error}") from error
    raise DeployError("".join(error.render() for error in diagnostics.sorted()))

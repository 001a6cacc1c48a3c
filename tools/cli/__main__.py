# SPDX-License-Identifier: Apache-2.0
"""`python -m tools.cli` is `./sluice`."""

from tools.cli.main import app

app(prog_name="sluice")

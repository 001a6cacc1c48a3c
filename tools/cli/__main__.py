# SPDX-License-Identifier: Apache-2.0
"""`python -m tools.cli` is `./sluice`."""

import gc
import os
import sys

if sys.argv[1:2] in (["check"], ["fmt"], ["explain"]):
    # They run while one writes, and end before there is anything to collect; so nothing is, not at the end either.
    gc.disable()
    from tools.cli.editing import app

    try:
        app(prog_name="sluice")
    except SystemExit as end:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else end.code is not None)

if sys.argv[1:2] in (["build"], ["report"]):
    from tools.cli.compiling import app
else:
    from tools.cli.main import app

app(prog_name="sluice")

# SPDX-License-Identifier: Apache-2.0
"""`python -m tools.cli` is `./sluice`."""

import gc
import os
import sys

EDITING, COMPILING = ("check", "fmt", "explain"), ("build", "report")

if sys.argv[1:2] and sys.argv[1] in (*EDITING, *COMPILING):
    gc.disable()  # a tenth of their time, for a tenth more memory: next to nothing of theirs is in cycles

if sys.argv[1:2] and sys.argv[1] in EDITING:
    from tools.cli.editing import app

    try:
        app(prog_name="sluice")
    except SystemExit as end:  # they run while one writes: memory is not given back piece by piece
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(end.code if isinstance(end.code, int) else end.code is not None)

if sys.argv[1:2] and sys.argv[1] in COMPILING:
    from tools.cli.compiling import app
else:
    from tools.cli.main import app

app(prog_name="sluice")

# SPDX-License-Identifier: Apache-2.0
"""`python -m tools.cli` is `./sluice`."""

import gc
import sys

if sys.argv[1:2] in (["check"], ["fmt"], ["explain"]):
    gc.disable()  # they end before there is anything to collect; a tenth of their time
    from tools.cli.editing import app
elif sys.argv[1:2] in (["build"], ["report"]):
    from tools.cli.compiling import app
else:
    from tools.cli.main import app

app(prog_name="sluice")

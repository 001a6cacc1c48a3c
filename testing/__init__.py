# SPDX-License-Identifier: Apache-2.0
"""Shared test plumbing: simulators, channel drivers, models, formal runs. It contains no test.

Generated modules (`sluice_layouts`) are found also where pytest runs on files outside the project, without its settings."""

import sys
from pathlib import Path

_GENERATED = str(Path(__file__).resolve().parent.parent / "build" / "gen")
if _GENERATED not in sys.path:
    sys.path.append(_GENERATED)

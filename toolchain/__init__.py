# SPDX-License-Identifier: Apache-2.0
"""The ground floor: simulators (`simulate`), proofs (`prove`), synthesis (`synth`), set-up (`setup`).

Every other folder may use it; it uses no other folder.

Generated modules (`sluice_layouts`) are found also where pytest runs on files outside the project, without its settings."""

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent  # of the checkout

_GENERATED = str(ROOT / "build" / "gen")
if _GENERATED not in sys.path:
    sys.path.append(_GENERATED)

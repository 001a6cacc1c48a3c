# SPDX-License-Identifier: Apache-2.0
"""`python -m bench.lpm [--json] [--peers]`."""

import sys

from bench.lpm import main

sys.exit(main(sys.argv[1:]))

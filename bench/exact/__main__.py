# SPDX-License-Identifier: Apache-2.0
"""`python -m bench.exact [--json] [--peers]`."""

import sys

from bench.exact import main

sys.exit(main(sys.argv[1:]))

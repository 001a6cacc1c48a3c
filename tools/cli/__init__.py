# SPDX-License-Identifier: Apache-2.0
"""The command line, `./sluice`: one file a subcommand, joined in `main.py`."""

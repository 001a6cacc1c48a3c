# SPDX-License-Identifier: Apache-2.0
"""Reference models: parser, deparser, actions, tables, host side and tunnels in plain, slow Python, and traffic for them.

Tests compare the RTL and the C with these models, and `host/judge` judges runs by them."""

import toolchain  # noqa: F401

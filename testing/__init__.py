# SPDX-License-Identifier: Apache-2.0
"""What tests share: channel drivers, captures, formal properties, Open vSwitch, mutation testing."""

import toolchain  # noqa: F401

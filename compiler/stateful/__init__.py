# SPDX-License-Identifier: Apache-2.0
"""Programs of the stateful unit: docs/design/stateful_process.md."""

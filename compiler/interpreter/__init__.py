# SPDX-License-Identifier: Apache-2.0
"""The reference interpreter: runs the typed tree as its docstrings say; what it gives is right, and every target must agree."""

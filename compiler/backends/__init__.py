# SPDX-License-Identifier: Apache-2.0
"""Checked programs to text: one target, one file."""

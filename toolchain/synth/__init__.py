# SPDX-License-Identifier: Apache-2.0
"""Synthesis and timing by open tools (Yosys, nextpnr), behind one data model, cached by content."""

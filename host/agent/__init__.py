# SPDX-License-Identifier: Apache-2.0
"""The agent: it owns the program of a device's programmable pipeline and speaks OpenFlow 1.3 to controllers."""

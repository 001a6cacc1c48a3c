# SPDX-License-Identifier: Apache-2.0
"""Debian's unmodified Open vSwitch on the simulated device: hosts in network namespaces, pipelines, and each flow's fate."""

# SPDX-License-Identifier: Apache-2.0
"""The poll-mode driver for DPDK."""

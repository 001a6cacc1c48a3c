# SPDX-License-Identifier: Apache-2.0
"""The programs that benchmarks compare with, run in the same run on one core: DPDK's tables, testpmd, OVS-DPDK."""

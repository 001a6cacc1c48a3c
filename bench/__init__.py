# SPDX-License-Identifier: Apache-2.0
"""Benchmarks behind `sluice bench NAME`: cycle-accurate figures of the RTL, beside what users would pick instead."""

CLOCK_MHZ = 200.0  # at which cycles are quoted as rates

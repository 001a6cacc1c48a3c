# SPDX-License-Identifier: Apache-2.0
"""Thin ctypes binding of libsluice, for tests, benchmarks and the command line."""

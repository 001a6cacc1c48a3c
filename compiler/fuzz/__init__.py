# SPDX-License-Identifier: Apache-2.0
"""The fuzzer: random well-typed programs and tokens, every target against the interpreter, failures reduced to one small file."""

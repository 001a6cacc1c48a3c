# SPDX-License-Identifier: Apache-2.0
"""The SMT solver of proofs as a command that yosys-smtbmc starts."""

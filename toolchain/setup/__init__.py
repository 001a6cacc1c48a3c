# SPDX-License-Identifier: Apache-2.0
"""Sets up the project on a fresh machine."""

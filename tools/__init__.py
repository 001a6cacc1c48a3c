# SPDX-License-Identifier: Apache-2.0
"""Programs around the project: the command line and the synthesis flows."""

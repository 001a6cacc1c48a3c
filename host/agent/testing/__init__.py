# SPDX-License-Identifier: Apache-2.0
"""What tests of the agent share."""

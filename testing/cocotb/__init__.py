# SPDX-License-Identifier: Apache-2.0
"""cocotb drivers for the one channel (valid, ready, data) and for the register bus."""

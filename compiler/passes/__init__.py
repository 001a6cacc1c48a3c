# SPDX-License-Identifier: Apache-2.0
"""Passes over the IR: one file each, `run(element) -> element`, checked by running what they made and by proof."""

# SPDX-License-Identifier: Apache-2.0
"""From transitions to pipeline stages: the delay tables, the merged graph of an element, and the scheduler."""

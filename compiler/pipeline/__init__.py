# SPDX-License-Identifier: Apache-2.0
"""Programs of the programmable pipeline: what is loaded into a running device (docs/design/pipeline.md)."""

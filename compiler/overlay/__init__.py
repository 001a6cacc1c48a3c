# SPDX-License-Identifier: Apache-2.0
"""From a program in the element language to a program of the programmable pipeline (docs/design/deploy.md)."""

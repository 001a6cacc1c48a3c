# SPDX-License-Identifier: Apache-2.0
"""The executions of a program that must agree: each target runs elements over streams and says what came out."""

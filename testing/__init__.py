# SPDX-License-Identifier: Apache-2.0
"""Shared test plumbing: simulators, channel drivers, models, formal runs. It contains no test."""

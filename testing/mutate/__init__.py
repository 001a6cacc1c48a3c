# SPDX-License-Identifier: Apache-2.0
"""Mutation testing: small changes of the sources, one at a time, each of which a test or a proof has to notice."""

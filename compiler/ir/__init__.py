# SPDX-License-Identifier: Apache-2.0
"""The intermediate representation: one pure transition function per handler, in static single assignment."""

# SPDX-License-Identifier: Apache-2.0
"""Source text to a checked program: source, lexer, ast, parser, check; one stage, one file."""

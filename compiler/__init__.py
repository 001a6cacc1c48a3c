# SPDX-License-Identifier: Apache-2.0
"""The compiler of the element language: front end, backends and the commands over them."""

import sys

RECURSION = 6000  # a chain of 500 'else if' is a tree as deep, and stages walk trees by recursion
sys.setrecursionlimit(max(RECURSION, sys.getrecursionlimit()))

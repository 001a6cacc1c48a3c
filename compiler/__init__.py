# SPDX-License-Identifier: Apache-2.0
"""The compiler of the element language: front end, backends and the commands over them."""

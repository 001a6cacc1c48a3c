# SPDX-License-Identifier: Apache-2.0
"""The host side: library, software forwarder, and the Python binding of both."""

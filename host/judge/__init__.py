# SPDX-License-Identifier: Apache-2.0
"""What should leave a run, and whether it did: an implementation of the rules file that shares no code with `host/switch`."""

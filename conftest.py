# SPDX-License-Identifier: Apache-2.0
"""Random tests repeat exactly in `make test`; `make fuzz` draws new examples in every run."""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, database=None)
if "SLUICE_FUZZ_MINUTES" not in os.environ:
    settings.load_profile("repeatable")

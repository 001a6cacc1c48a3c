# SPDX-License-Identifier: Apache-2.0
"""The thread sanitizer finds nothing in what threads may do to one device at once."""

from __future__ import annotations

import json
import subprocess

from host.build import HOST, LIBSLUICE, c_files, compile_c

# The sanitizer knows no fences; what they order is atomic. Addresses of programs are not to be random: it wants its own.
FLAGS = ["-O1", "-fsanitize=thread", "-Wno-tsan", '-DSLUICE_DEVICE_PROGRAM=""']


def test_threads_that_poll_send_and_change_rules_race_nowhere() -> None:
    program = compile_c("races-{}", FLAGS, [*c_files(LIBSLUICE), HOST / "lib" / "testing" / "races.c"])
    command = ["setarch", "-R", str(program), "150"]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0 and "WARNING: ThreadSanitizer" not in done.stderr, done.stdout + done.stderr[:6000]
    found = json.loads(done.stdout)
    assert found.pop("went_back") == 0, "what is handled never becomes less"
    assert min(found.values()) > 100, found

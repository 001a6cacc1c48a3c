# SPDX-License-Identifier: Apache-2.0
"""What is compiled is compiled anew when a header changes, also one beside the sources only."""

from __future__ import annotations

import subprocess
from pathlib import Path

from host.build import compile_c


def test_a_header_beside_a_source_is_a_part_of_it(tmp_path: Path) -> None:
    source, header = tmp_path / "status.c", tmp_path / "status.h"
    source.write_text('#include "status.h"\nint main(void) {\n    return STATUS;\n}\n')
    for status in (3, 4):
        header.write_text(f"#define STATUS {status}\n")
        assert subprocess.run([compile_c("test-status-{}", [], [source])], check=False).returncode == status

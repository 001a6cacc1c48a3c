# SPDX-License-Identifier: Apache-2.0
"""The area of modules that the compiler emits: as `flow.area`, from texts instead of files in the source folders."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict

from testing.simulate import ROOT, TOOLCHAIN
from tools.synth import flow


def area_of(top: str, files: Mapping[str, str], target: str, timeout: float = 1800) -> flow.Area:
    """Synthesise the module `top` of texts by file name for `target`; kept by content. Raises SynthesisError."""
    state = hashlib.sha256(repr((top, sorted(files.items()), target, TOOLCHAIN.read_text())).encode())
    folder = flow.BUILD / f"{top}-{target}-{state.hexdigest()[:16]}"
    result = folder / "area.json"
    if not result.exists():
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text)
        inside = folder.relative_to(ROOT)  # the tools see only files below the folder they start in
        sources = " ".join(str(inside / name) for name in sorted(files, key=lambda name: (not name.endswith("_pkg.sv"), name)))
        report = f"tee -q -o {inside / 'stat.json'} stat -json"
        flow._yosys([f"read_slang -j 1 --top {top} {sources}", flow._synth_command(target), report], folder, timeout)
        cells = json.loads((folder / "stat.json").read_text())["design"]["num_cells_by_type"]
        result.write_text(json.dumps(asdict(flow._area(target, cells))))
    return flow.Area(**json.loads(result.read_text()))

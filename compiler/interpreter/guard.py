# SPDX-License-Identifier: Apache-2.0
"""The guard behind a `packet` output: what leaves is well-formed, whatever the element writes (docs/design/compiler.md)."""

from __future__ import annotations

from dataclasses import dataclass

from compiler.frontend.typed import Struct, Type


def fields_of(flit: Type) -> dict[str, tuple[int, int]]:
    """Lowest bit and bits of each field of the flit."""
    assert isinstance(flit, Struct)
    return {field.name: (field.low, field.type.bits) for field in flit.fields}


@dataclass
class Guard:
    """Ends a broken packet with `error` at the flit that breaks it, and discards the rest up to the next sop."""

    flit: Type
    inside: bool = False
    discarded: int = 0
    mended: int = 0

    def passed(self, value: int) -> int | None:
        """The flit that leaves for a flit that was written, or None."""
        fields = fields_of(self.flit)
        get = {name: value >> low & (1 << bits) - 1 for name, (low, bits) in fields.items()}
        if not self.inside and not get["sop"]:
            self.discarded += 1
            return None
        if (self.inside and get["sop"]) or (get["empty"] and not get["eop"]):
            for name, new in {"sop": int(not self.inside), "eop": 1, "error": 1, "empty": 0}.items():
                low, bits = fields[name]
                value = value & ~((1 << bits) - 1 << low) | new << low
            self.inside = False
            self.mended += 1
            return value
        self.inside = not get["eop"]
        return value

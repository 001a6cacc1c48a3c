# SPDX-License-Identifier: Apache-2.0
"""sl_tcam proved for a tiny size: no write disturbs a live entry, a switch is exact to the cycle (bounded, all inputs)."""

import pytest

from testing.prove import ProofError, prove

# Steps enough for a whole write beside a live entry and a lookup behind it; the cover shows that, a little deeper.
DEPTHS = {"bmc": 25, "cover": 28}


@pytest.mark.parametrize("block_ram", [0, 1])
@pytest.mark.parametrize("mode", ["bmc", "cover"])
def test_tcam_keeps_live_entries_and_switches_exactly(mode: str, block_ram: int) -> None:
    prove("fv_tcam", mode, DEPTHS[mode] + block_ram, {"BlockRam": block_ram}, synthesis=True)


def test_proof_notices_valid_bits_that_are_late() -> None:
    with pytest.raises(ProofError):
        late = ("sl_tcam_bank", ".Delay(Latency - 1)", ".Delay(Latency)")
        prove("fv_tcam", "bmc", DEPTHS["bmc"], mutation=late, synthesis=True)

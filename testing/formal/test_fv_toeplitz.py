# SPDX-License-Identifier: Apache-2.0
"""sl_toeplitz adds for each bit of its input the right bits of the key, whatever the key (proved by induction)."""

import pytest

from testing.prove import ProofError, prove


def test_each_bit_adds_its_part_of_the_key() -> None:
    prove("fv_toeplitz", depth=4)
    prove("fv_toeplitz", mode="cover", depth=6)


def test_a_wrong_bit_of_the_key_is_found() -> None:
    with pytest.raises(ProofError):
        prove("fv_toeplitz", mode="bmc", depth=6, mutation=("sl_toeplitz", "key[62 - bit_ -: 32]", "key[62 - (bit_ & 30) -: 32]"))

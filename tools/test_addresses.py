# SPDX-License-Identifier: Apache-2.0
"""The lint of MAC addresses finds each packet without a destination, and only those."""

from pathlib import Path

from tools import addresses


def test_the_project_has_no_exception() -> None:
    from tools import lint

    assert lint.addresses(False) == ""


def test_a_packet_without_a_destination_is_wrong(tmp_path: Path) -> None:
    text = """from scapy.layers import l2
made = l2.Ether() / b"x"
made = Ether(
    src="02:00:00:00:00:01", type=0x0800)
parsed = Ether(bytes(made))
sent = [Ether(dst="02:00:00:00:00:01"), Ether(**MACS), Ether(**MACS, type=7)]
"""
    (tmp_path / "made.py").write_text(text)
    ending = "Ether without dst: scapy would ask the network for it"
    assert addresses.wrong(tmp_path, ["made.py"]) == [f"made.py:2: {ending}", f"made.py:3: {ending}"]

# SPDX-License-Identifier: Apache-2.0
"""A lane's Unix socket takes the place of one that a run left behind, and of no other."""

from __future__ import annotations

import ctypes as c
import errno
import os
import socket
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from host.python.device import load


@pytest.fixture
def path() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="sl-") as folder:  # a socket's name is short
        yield Path(folder) / "lane"


def opened(path: Path) -> tuple[int, str]:
    """What opening a lane there returns, and its words; it is closed again."""
    library, lane = load(), c.c_void_p()
    result = library.lane_open(c.byref(lane), 0, f"unix:{path}".encode(), None, None)
    text = library.sluice_error_text().decode() if result else ""
    if result == 0:
        assert path.is_socket()
        library.lane_close(lane)
    return result, text


def test_a_socket_that_nobody_listens_to_is_replaced_and_removed_in_the_end(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(str(path))
    assert path.is_socket()
    assert opened(path) == (0, "") and not path.exists()


@pytest.mark.parametrize("kind", [socket.SOCK_DGRAM, socket.SOCK_STREAM])
def test_a_socket_in_use_is_refused_and_stays(path: Path, kind: socket.SocketKind) -> None:
    with socket.socket(socket.AF_UNIX, kind) as other:
        other.bind(str(path))
        if kind == socket.SOCK_STREAM:
            other.listen()
        result, text = opened(path)
        assert result == -errno.EADDRINUSE and "in use" in text and path.is_socket()


def test_a_socket_of_another_user_is_refused_and_stays(path: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as left:
        left.bind(str(path))
    os.chown(path, 65534, -1)  # the tests run as root
    result, text = opened(path)
    assert result == -errno.EPERM and "user 65534" in text and path.is_socket()


def test_a_file_is_refused_and_stays(path: Path) -> None:
    path.write_text("mine")
    assert opened(path)[0] == -errno.EADDRINUSE and path.read_text() == "mine"

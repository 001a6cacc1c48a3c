# SPDX-License-Identifier: Apache-2.0
"""The files of `sluice run`: inputs, unpacked where they are compressed, and outputs, looked at before minutes are spent. What
cannot be used is said in one line (typer.BadParameter)."""

from __future__ import annotations

import lzma
import os
import shutil
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import typer


@contextmanager
def readable(paths: Sequence[Path]) -> Iterator[list[Path]]:
    """Files that can be read as they are: those that end in .xz are unpacked into a folder that goes with the `with`."""
    with TemporaryDirectory(prefix="sluice-") as folder:
        yield [_plain(path, Path(folder) / str(number)) for number, path in enumerate(paths)]


def _plain(path: Path, folder: Path) -> Path:
    try:
        mode = path.stat().st_mode
        if stat.S_ISDIR(mode):
            raise typer.BadParameter(f"{path} is a folder; an input must be a pcap or pcapng file")
        if path.suffix != ".xz":
            return path
        folder.mkdir()
        with lzma.open(path) as packed, (folder / path.stem).open("wb") as plain:
            shutil.copyfileobj(packed, plain)
    except (lzma.LZMAError, EOFError) as error:
        raise typer.BadParameter(f"{path}: not an xz file ({error})") from error
    except OSError as error:
        raise typer.BadParameter(f"{path}: {error.strerror}") from error
    return folder / path.stem


@contextmanager
def steady(path: Path) -> Iterator[Path]:
    """A file that can be read more than once: of a pipe, a copy."""
    if not path.is_fifo():
        yield path
        return
    with TemporaryDirectory(prefix="sluice-") as folder:
        copy = Path(folder) / path.name
        copy.write_bytes(path.read_bytes())
        yield copy


def check_outputs(paths: Sequence[Path]) -> None:
    """Every output can be written, and none of them twice; folders that are missing are made."""
    taken: dict[Path, Path] = {}
    for path in paths:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            mode = path.stat().st_mode if path.exists() else stat.S_IFREG
            target = path.resolve()
        except FileExistsError as error:
            raise typer.BadParameter(f"--out {path}: {path.parent} is not a folder") from error
        except OSError as error:
            raise typer.BadParameter(f"--out {path}: {error.strerror}") from error
        if not (stat.S_ISREG(mode) or stat.S_ISCHR(mode) or stat.S_ISFIFO(mode)):
            raise typer.BadParameter(f"--out {path}: an output must be a file, a FIFO or a device such as /dev/null")
        if not os.access(target.parent if stat.S_ISREG(mode) else target, os.W_OK):
            raise typer.BadParameter(f"--out {path}: Permission denied")
        if target in taken and not stat.S_ISCHR(mode):
            raise typer.BadParameter(f"--out {taken[target]} and --out {path} are the same file; each lane needs its own")
        taken[target] = path

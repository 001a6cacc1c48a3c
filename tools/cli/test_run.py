# SPDX-License-Identifier: Apache-2.0
"""`sluice run` and its files: what stands where an output goes, compressed inputs, Ctrl-C, and errors in one line."""

from __future__ import annotations

import json
import lzma
import os
import pty
import signal
import socket
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from host.run.test_run import HEAD, ROUTES, good, write
from host.run.test_run import read as read_capture
from toolchain import ROOT
from toolchain.simulate import GENERATED
from tools.cli.main import app

WIDE = {"COLUMNS": "300"}  # else a long path is broken over lines


def sluice_run(folder: Path, *words: str | Path) -> tuple[int, str]:
    """Exit status and everything that it said."""
    (folder / "some.rules").write_text(ROUTES)
    done = CliRunner(env=WIDE).invoke(app, ["run", "--rules", str(folder / "some.rules"), *map(str, words)])
    assert done.exception is None or isinstance(done.exception, SystemExit), "no traceback"
    return done.exit_code, " ".join(done.output.replace("│", " ").split())  # without the frame of an error


def capture(folder: Path, name: str = "in.pcap", packets: int = 3) -> Path:
    folder.mkdir(exist_ok=True)
    return write(folder / name, [bytes(good(4)) + n.to_bytes(4, "big") for n in range(packets)])


# ---- Outputs that are no files


def test_a_fifo_is_written_and_stays_one(tmp_path: Path) -> None:
    fifo, got = tmp_path / "fifo", []
    os.mkfifo(fifo)
    reader = threading.Thread(target=lambda: got.append(fifo.read_bytes()), daemon=True)
    reader.start()
    assert sluice_run(tmp_path, "--in", capture(tmp_path), "--out", tmp_path / "0.pcap", "--out", fifo)[0] == 0
    reader.join(timeout=20)
    assert fifo.is_fifo() and got[0][:24] == HEAD and len(got[0]) > 3 * 60


def test_a_device_is_written_and_stays_one(tmp_path: Path) -> None:
    ends, device = (), tmp_path / "null"
    try:
        os.mknod(device, stat.S_IFCHR | 0o666, os.makedev(1, 3))
    except PermissionError:  # a terminal is one, too
        ends = pty.openpty()
        device = Path(os.ttyname(ends[1]))
    for outputs in (["--out", device], ["--out", device, "--out", device]):
        status, text = sluice_run(tmp_path, "--in", capture(tmp_path), *outputs)
        assert status == 0 and device.is_char_device(), text
    for end in ends:
        os.close(end)


def test_what_a_link_leads_to_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / "there" / "1.pcap").write_bytes(b"before")
    (tmp_path / "link").symlink_to("there/1.pcap")
    assert sluice_run(tmp_path, "--in", capture(tmp_path), "--out", tmp_path / "0.pcap", "--out", tmp_path / "link")[0] == 0
    assert (tmp_path / "link").is_symlink() and len(read_capture(tmp_path / "there" / "1.pcap")) == 3


def test_outputs_that_cannot_be_are_refused_before_the_run(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("before")
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to("file")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "socket"))
        for outputs, words in [
            (["file/x.pcap"], "file is not a folder"),
            (["folder"], "folder: an output must be a file, a FIFO or a device"),
            (["socket"], "socket: an output must be a file"),
            (["a.pcap", "folder/../a.pcap"], "are the same file; each lane needs its own"),
            (["file", "link"], "are the same file"),
            (["x" * 300], "File name too long"),
        ]:
            status, text = sluice_run(
                tmp_path, "--in", capture(tmp_path), *(word for name in outputs for word in ("--out", tmp_path / name))
            )
            assert status == 2 and words in text, (outputs, text)
    assert (tmp_path / "file").read_text() == "before" and not (tmp_path / "a.pcap").exists()


# ---- Inputs


def packed(path: Path) -> Path:
    target = path.with_name(path.name + ".xz")
    target.write_bytes(lzma.compress(path.read_bytes()))
    return target


def test_compressed_captures_of_one_name_are_two(tmp_path: Path) -> None:
    first, second = packed(capture(tmp_path / "a", packets=3)), packed(capture(tmp_path / "b", packets=5))
    status, text = sluice_run(tmp_path, "--in", first, "--in", second, "--json")
    assert status == 0 and json.loads(text)["packets"] == 8, text


def test_inputs_that_cannot_be_are_errors_of_one_line(tmp_path: Path) -> None:
    (tmp_path / "folder.xz").mkdir()
    (tmp_path / "text.xz").write_text("no xz file")
    (tmp_path / "cut.xz").write_bytes(packed(capture(tmp_path)).read_bytes()[:-20])
    (tmp_path / "file").write_text("")
    for name, words in [
        ("folder.xz", "is a folder; an input must be a pcap or pcapng file"),
        ("text.xz", "not an xz file"),
        ("cut.xz", "not an xz file"),
        ("nowhere.xz", "No such file"),
        ("file/in.pcap", "Not a directory"),
        ("x" * 300, "File name too long"),
    ]:
        status, text = sluice_run(tmp_path, "--in", tmp_path / name)
        assert status == 2 and words in text, (name, text)


def test_rules_may_come_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    threading.Thread(target=lambda: (tmp_path / "pipe").write_text(ROUTES), daemon=True).start()
    words = ["run", "--rules", tmp_path / "pipe", "--in", capture(tmp_path), "--json"]
    done = CliRunner(env=WIDE).invoke(app, [str(word) for word in words])
    assert done.exit_code == 0 and json.loads(done.output)["hits"] == 3, done.output


# ---- Ctrl-C


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_a_run_and_nothing_is_written(number: signal.Signals, tmp_path: Path) -> None:
    (tmp_path / "some.rules").write_text(ROUTES)
    (tmp_path / "out.pcap").write_text("before")
    words = ["--rules", tmp_path / "some.rules", "--in", capture(tmp_path), "--out", tmp_path / "out.pcap", "--repeat", 10**8]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{GENERATED}", "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-m", "tools.cli", "run", *map(str, words)]
    with subprocess.Popen(command, cwd=ROOT, env=environment, stderr=subprocess.PIPE, text=True) as process:
        while "sim_device" not in Path(f"/proc/{process.pid}/maps").read_text():  # until the device runs
            assert process.poll() is None
            time.sleep(0.05)
        process.send_signal(number)
        _, errors = process.communicate(timeout=300)  # the run itself would take hours
    assert process.returncode == 128 + number and errors.endswith("run: stopped; no output was written\n"), errors
    assert (tmp_path / "out.pcap").read_text() == "before"
    assert not [path for path in tmp_path.iterdir() if path.suffix == ".unfinished" or path.is_dir()]

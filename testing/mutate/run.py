# SPDX-License-Identifier: Apache-2.0
"""Runs mutants against their judges, and remembers what came of each, so that a run that was stopped goes on.

Everything is under build/mutate: `verdicts.jsonl` has a line for each mutant that was judged; a verdict counts as long as the
mutated file is the same and, of a survivor, its judges and what helps them are. `tree-*` are copies of the sources that hold the
schemata of a run.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from functools import cache
from pathlib import Path

from testing.mutate import equivalent
from testing.mutate.judges import Judge, effort, of_part
from testing.mutate.mutant import PACKAGE, PACKAGE_TEXT, VARIABLE, Mutant, direct, schema
from toolchain import ROOT
from toolchain.simulate import GENERATED, SOURCE_FOLDERS

FOLDER = ROOT / "build" / "mutate"
COPIED = (*SOURCE_FOLDERS, "host")
ENDINGS = (".sv", ".c", ".h", ".cc")
SELECTOR = Path("rtl") / "_mutant" / f"{PACKAGE}.sv"  # before every other package
SHARED = ("testing", "testing/cocotb", "testing/streams", "toolchain", "models")  # helpers of every judge
HELPING = ("testing", "formal")  # where every file may help: programs that tests drive, harnesses of proofs
PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=line")
LARGEST_FILE = 2 << 30  # what a mutant may write


@dataclass(frozen=True)
class Verdict:
    """What became of a mutant: killed `by` a test or by the time limit, equivalent, or survived; processor seconds."""

    key: str
    file: str
    line: int
    operator: str
    original: str
    mutated: str
    verdict: str
    by: str
    seconds: float
    source: str
    judges: str


def digest(*paths: str) -> str:
    """Of files of the repository."""
    state = hashlib.sha256()
    for path in paths:
        state.update((ROOT / path).read_bytes())
    return state.hexdigest()[:16]


@cache
def helpers(judge: str) -> list[str]:
    """What a judge may be helped by: what stands beside it and is no test of its own, and what all share."""
    own = (ROOT / judge).parent
    folders = {own, own / "testing", *(ROOT / name for name in SHARED)}
    return sorted(str(path.relative_to(ROOT)) for folder in folders if folder.is_dir() for path in folder.iterdir() if _helps(path))


def _helps(path: Path) -> bool:
    return path.is_file() and not path.name.startswith("test_") and (path.suffix == ".py" or path.parent.name in HELPING)


def write_tree(folder: Path, changed: dict[str, bytes]) -> None:
    """A copy of the sources with these files in place of their own; a finished one is left as it is."""
    if (folder / "done").exists():
        return
    for name in COPIED:
        for path in (ROOT / name).rglob("*"):
            if path.suffix in ENDINGS:
                inside = folder / path.relative_to(ROOT)
                inside.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, inside)
    for name, text in changed.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(text)
    (folder / "done").touch()


@dataclass
class Schemata:
    """Two trees for a list of mutants: the SystemVerilog with schemata beside C as it is, and the other way round."""

    mutants: Sequence[Mutant]
    folder: Path = field(init=False)
    number: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.number = {it.key: index for index, it in enumerate(self.mutants, 1)}
        state = hashlib.sha256(repr(sorted(self.number.items())).encode())
        for path in sorted(p for name in COPIED for p in (ROOT / name).rglob("*") if p.suffix in ENDINGS):
            state.update(path.name.encode() + path.read_bytes())
        self.folder = FOLDER / f"tree-{state.hexdigest()[:12]}"
        for ending, tree in ((".sv", "verilog"), (".c", "c")):
            files = sorted({it.file for it in self.mutants if it.file.endswith(ending)})
            changed = {file: self._schema(file) for file in files}
            if changed and ending == ".sv":
                changed[str(SELECTOR)] = PACKAGE_TEXT.encode()
            if changed:
                write_tree(self.folder / tree, changed)

    def _schema(self, file: str) -> bytes:
        mine = [(number, it) for it in self.mutants if it.file == file for number in [self.number[it.key]]]
        return schema((ROOT / file).read_bytes(), mine)

    def tree(self, it: Mutant) -> Path:
        """Where the mutant is, behind its number."""
        return self.folder / ("verilog" if it.file.endswith(".sv") else "c")

    def plain(self) -> Path:
        """A copy of the sources as they are."""
        write_tree(self.folder / "plain", {})
        return self.folder / "plain"


@dataclass(frozen=True)
class Ran:
    """A run of a judge: the exit status (None: a limit ended it), the seconds that it used of `Limits`, what it printed."""

    status: int | None
    cpu: float
    idle: float
    text: str


@dataclass
class Limits:
    """Of a judge with all it starts, in seconds: of processor time, and of time in which it only waits. Neither passes while it
    wants a processor and gets none, so that a busy machine kills no mutant. `without`: cases that fail without a mutant."""

    cpu: float
    idle: float
    without: list[str] = field(default_factory=list)


GENEROUS = Limits(7200, 7200)
LEAST = Limits(30, 60)
LEAST_SINGLE = Limits(900, 300)  # of a judge whose answer without a mutant may come from a cache: a proof
LOOK = 2.0  # seconds between two looks at what a judge has used


class Stopped(Exception):
    """The run is being stopped: no judge begins any more."""


class Groups:
    """The process groups of the judges that run, so that none outlives the run."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.running: set[int] = set()
        self.stopped = False

    def begin(self, start: Callable[[], subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
        """Start a judge; raises Stopped after `stop`."""
        with self.lock:
            if self.stopped:
                raise Stopped
            process = start()
            self.running.add(process.pid)
            return process

    def end(self, group: int) -> None:
        """A judge has ended, and with it what it started."""
        _kill(group)
        with self.lock:
            self.running.discard(group)

    def stop(self) -> None:
        """End all judges now, and begin none."""
        with self.lock:
            self.stopped = True
            for group in self.running:
                _kill(group)


def stop_at_sigterm() -> None:
    """SIGTERM ends this process as Ctrl-C does: with its judges."""

    def stop(number: int, _: object) -> None:
        sys.exit(128 + number)

    signal.signal(signal.SIGTERM, stop)


def ask(judge: Judge, tree: Path, number: int, limits: Limits, groups: Groups) -> Ran:
    """Run a judge on the sources of a tree, with this mutant of its schemata. Raises Stopped."""
    command = [sys.executable, *PYTEST, judge.path]
    command += ["-k", judge.only] if judge.only else []
    command += [] if limits is GENEROUS else ["-x"]
    command += [f"--deselect={case}" for case in limits.without]
    environment = {
        **os.environ,
        "PATH": f"{ROOT / 'build' / 'env' / 'bin'}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:{GENERATED}",
        "SLUICE_SOURCES": str(tree),
        VARIABLE: str(number),
        "COLUMNS": "300",  # for names of cases
        "OBJCACHE": "ccache",
        "CCACHE_DIR": str(ROOT / "build" / "ccache"),
    }

    def restricted() -> None:  # also where nobody is left to look after it
        resource.setrlimit(resource.RLIMIT_CPU, (int(limits.cpu) + 5, int(limits.cpu) + 10))
        resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST_FILE, LARGEST_FILE))

    log = tree / f"judged-{number}.log"
    with log.open("wb") as out:
        process = groups.begin(
            lambda: subprocess.Popen(
                command, cwd=ROOT, env=environment, stdout=out, stderr=out, start_new_session=True, preexec_fn=restricted
            )
        )
        try:
            status, cpu, idle = _waited(process.pid, limits)
        finally:
            groups.end(process.pid)
    process.returncode = 0  # waited for above, by what tells of its time
    text = log.read_bytes()[-20000:].decode(errors="replace")
    return Ran(status, cpu, idle, text)


def _waited(pid: int, limits: Limits) -> tuple[int | None, float, float]:
    """How a judge ended, None where a limit ended it, and the seconds of all that it started."""
    looked = time.monotonic()
    cpu = idle = 0.0
    stopped = False
    while True:
        done, status, used = os.wait4(pid, os.WNOHANG)
        if done:
            return None if stopped else os.waitstatus_to_exitcode(status), max(cpu, used.ru_utime + used.ru_stime), idle
        now = time.monotonic()
        if not stopped and now > looked + LOOK:
            seconds, waits = group_use(pid)
            idle += now - looked if waits else 0
            looked, cpu = now, max(cpu, seconds)
            if cpu > limits.cpu or idle > limits.idle:
                _kill(pid)
                stopped = True
        time.sleep(0.02)


def group_use(group: int) -> tuple[float, bool]:
    """Of a process group: the processor seconds of its processes and of those of their children that have ended; whether none of
    its threads wants a processor or a disk."""
    ticks, states = 0, set()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(FileNotFoundError, ProcessLookupError):
            fields = _fields(process / "stat")
            if int(fields[2]) == group:
                ticks += sum(map(int, fields[11:15]))
                states |= {_fields(thread / "stat")[0] for thread in (process / "task").iterdir()}
    return ticks / os.sysconf("SC_CLK_TCK"), not states & {"R", "D"}


def _fields(stat: Path) -> list[str]:
    """What a process's or thread's `stat` holds behind its name: first the state."""
    return stat.read_text().rpartition(")")[2].split()


def _kill(group: int) -> None:
    with suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)


class Session:
    """Mutants of one run and what is known about them."""

    def __init__(self, mutants: Sequence[Mutant], judged: Callable[[str], Sequence[Judge]] = of_part) -> None:
        self.mutants = mutants
        self.schemata = Schemata(mutants)
        self.judged = judged
        self.lock = threading.Lock()
        self.groups = Groups()
        self.baselines: dict[tuple[Judge, Path], Limits | None] = {}
        self.locks: dict[tuple[Judge, Path], threading.Lock] = {}
        self.broken: dict[str, str] = {}  # judges of which some or all cases fail without a mutant, and how
        self.kills: Counter[tuple[str, Judge]] = Counter()
        self.verdicts = self._known()

    def _known(self) -> dict[str, Verdict]:
        path = FOLDER / "verdicts.jsonl"
        lines = path.read_text().splitlines() if path.exists() else []
        known = [Verdict(**json.loads(line)) for line in lines]
        wanted = {it.key: it for it in self.mutants}
        return {one.key: one for one in known if one.key in wanted and self._counts(one, wanted[one.key])}

    def _counts(self, one: Verdict, it: Mutant) -> bool:
        if one.source != digest(one.file) or equivalent.argument(it):
            return False
        return one.verdict == "killed" or (one.by != "argued" and one.judges == self.judges_digest(one.file))

    def judges_digest(self, file: str) -> str:
        """Of those who judge a part, with what they are helped by."""
        paths = [judge.path for judge in self.judged(file)]
        return digest(*paths, *sorted({helper for path in paths for helper in helpers(path)}))

    def limits(self, judge: Judge, tree: Path) -> Limits | None:
        """How long the judge may take; None where it fails without a mutant. The first question builds what it needs."""
        key = (judge, tree)
        with self.lock:
            own = self.locks.setdefault(key, threading.Lock())
        with own:
            if key not in self.baselines:
                self.baselines[key] = self._measured(judge, tree)
            return self.baselines[key]

    def _measured(self, judge: Judge, tree: Path) -> Limits | None:
        state = hashlib.sha256(repr((judge, digest(judge.path))).encode())
        stamp = tree / f"baseline-{judge.path.replace('/', '-')}-{state.hexdigest()[:16]}.json"
        if stamp.exists():
            return Limits(**json.loads(stamp.read_text()))
        ran = ask(judge, tree, 0, GENEROUS, self.groups)
        without = _failed(ran)  # such as those of synthesis, which cannot read schemata
        if without:
            self._is_broken(judge, ran)
            ran = ask(judge, tree, 0, replace(GENEROUS, without=without), self.groups)
        if ran.status != 0:
            self._is_broken(judge, ran)
            return None
        limits = replace(_limits(judge, ran), without=without)
        stamp.write_text(json.dumps(asdict(limits)))
        return limits

    def judge(self, it: Mutant) -> Verdict | None:
        """Ask its judges in turn until one notices. None where none of them can tell: all fail without a mutant."""
        spent, able = 0.0, 0
        if equivalent.argument(it):
            return self._verdict(it, "equivalent", "argued", spent)
        for judge in self.in_turn(it.file):
            limits = self.limits(judge, self.schemata.plain() if judge.single else self.schemata.tree(it))
            if limits is None:
                continue
            if judge.single:
                ran = self._alone(judge, it, limits)
            else:
                ran = ask(judge, self.schemata.tree(it), self.schemata.number[it.key], limits, self.groups)
            spent += ran.cpu
            if ran.status == 0:  # the first run, without a mutant, built as well
                limits.cpu = min(limits.cpu, _limits(judge, ran).cpu)
            elif killer := _killer(ran, judge):
                self.kills[it.file, judge] += 1
                return self._verdict(it, "killed", killer, spent)
            else:
                self._is_broken(judge, ran)
                continue
            able += 1
        if not able:
            return None
        if equivalent.proved(it):
            return self._verdict(it, "equivalent", "proved", spent)
        return self._verdict(it, "survived", "", spent)

    def _is_broken(self, judge: Judge, ran: Ran) -> None:
        self.broken[f"{judge.path} {judge.only}".strip()] = ran.text[-3000:]

    def in_turn(self, file: str) -> list[Judge]:
        """Who judges a part; first those that build once, and of these first what killed most of the part's mutants."""
        return sorted(self.judged(file), key=lambda judge: (judge.single, -self.kills[file, judge]))

    def _alone(self, judge: Judge, it: Mutant, limits: Limits) -> Ran:
        tree = FOLDER / "single" / f"{it.key}-{digest(it.file)}"
        write_tree(tree, {it.file: direct((ROOT / it.file).read_bytes(), it)})
        ran = ask(judge, tree, 0, limits, self.groups)
        shutil.rmtree(tree)
        return ran

    def _verdict(self, it: Mutant, what: str, by: str, seconds: float) -> Verdict:
        lines = (it.original_line.strip(), it.mutated_line.strip())
        known = (digest(it.file), self.judges_digest(it.file))
        return Verdict(it.key, it.file, it.line, it.operator, *lines, what, by, round(seconds, 1), *known)

    def waiting(self) -> list[Mutant]:
        """Mutants without a verdict, those first that are cheap to judge."""
        return sorted((it for it in self.mutants if it.key not in self.verdicts), key=lambda it: effort(it.file))

    def run(self, jobs: int, minutes: float = 0, only: Iterable[Mutant] | None = None) -> Iterator[Verdict]:
        """Judge what has no verdict yet, and write each verdict down; no new one is begun after so many minutes (0: all)."""
        end = time.monotonic() + 60 * minutes if minutes else float("inf")
        FOLDER.mkdir(parents=True, exist_ok=True)

        def one(it: Mutant) -> Verdict | None:
            return self.judge(it) if time.monotonic() < end else None

        pool = ThreadPoolExecutor(jobs)
        try:
            for done in as_completed([pool.submit(one, it) for it in (self.waiting() if only is None else only)]):
                verdict = done.result()
                if verdict is not None:
                    self.verdicts[verdict.key] = verdict
                    with (FOLDER / "verdicts.jsonl").open("a") as out:
                        out.write(json.dumps(asdict(verdict)) + "\n")
                    yield verdict
        except BaseException:  # Ctrl-C and SIGTERM too: judges are process groups of their own, and would go on
            pool.shutdown(wait=False, cancel_futures=True)
            self.groups.stop()
            raise
        pool.shutdown()


def _limits(judge: Judge, ran: Ran) -> Limits:
    """Of a judge that took so long and let pass what it was asked."""
    least = LEAST_SINGLE if judge.single else LEAST
    return Limits(least.cpu + 5 * ran.cpu, least.idle + 10 * ran.idle)


def _killer(ran: Ran, judge: Judge) -> str:
    """What of a judge that did not pass noticed the mutant: a limit, a signal, a test that failed. "" where no test ran: pytest
    itself could not, which says nothing of the mutant."""
    if ran.status is None:
        return "time limit"
    if ran.status < 0:
        return f"{judge.path} (signal {-ran.status})"
    return next(iter(_failed(ran)), "")


def _failed(ran: Ran) -> list[str]:
    """The cases that failed."""
    return re.findall(r"^(?:FAILED|ERROR) (\S.*?)(?: - .*)?$", ran.text, re.MULTILINE)

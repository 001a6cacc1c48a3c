# SPDX-License-Identifier: Apache-2.0
"""The agent's local API: a Unix socket, a JSON object a line in, one or more out.

Requests: {"do": "status"}, {"do": "dump"}, {"do": "add", "flow": TEXT}, {"do": "del", "flow": TEXT, "strict": false},
{"do": "packets", "follow": false}, {"do": "deploy", "file": PATH, "rules": PATH}, {"do": "restore"}. An answer has "error" where
something is wrong. `text.py` says what a flow's TEXT is; `deploy.py` makes a program of the files.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from c65of import ofproto as of
from c65of.ofproto import parser as codec

from compiler.overlay.place import Sizes
from host.agent import messages
from host.agent.deploy import DeployError, compiled
from host.agent.refusal import Refusal
from host.agent.session import Session
from host.agent.switch import Deployed, Shown, Switch
from host.agent.text import FlowTextError, read_filter, read_flow, show_flow

LONGEST = 1 << 16  # bytes of a request
POLL = 0.05  # seconds between two looks for packets


class LocalApi:
    """Serves the socket."""

    def __init__(self, switch: Switch, path: Path, status: Callable[[], dict[str, object]]) -> None:
        self.switch, self.path, self.status = switch, path, status
        self.session = Session(switch, lambda data: None)

    async def serve(self) -> None:
        """Until it is cancelled."""
        self.path.unlink(missing_ok=True)
        server = await asyncio.start_unix_server(self._client, self.path, limit=LONGEST)
        self.path.chmod(0o600)
        async with server:
            try:
                await server.serve_forever()
            finally:
                self.path.unlink(missing_ok=True)

    async def _client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ValueError, asyncio.CancelledError):  # ValueError: a line beyond the limit
            while line := await reader.readline():
                request = _request(line)
                if request.get("do") == "packets":
                    await self._packets(reader, writer, bool(request.get("follow")))
                elif request.get("do") == "deploy":
                    _write(writer, await self._deploy(request))
                else:
                    _write(writer, self._answer(request))
                await writer.drain()
        writer.close()

    def _answer(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            match request.get("do"):
                case "status":
                    counters = dict(self.switch.counters) | {
                        "flows": len(self.switch.flows.by_key),
                        "loads": self.switch.pipeline.loads,
                    }
                    name = self.switch.deployed.name if self.switch.deployed else None
                    sizes = {"tables": self.switch.tables, "ports": self.switch.lanes}
                    return {**self.status(), **sizes, "program": name, "counters": counters}
                case "restore":
                    self.switch.deploy(None)
                    return {"flows": len(self.switch.flows.by_key)}
                case "dump":
                    return {"flows": [show_flow(flow) for flow in self._flows()]}
                case "add":
                    return self._change(read_flow(str(request.get("flow", ""))))
                case "del":
                    return self._change(read_filter(str(request.get("flow", "")), bool(request.get("strict"))))
        except (FlowTextError, OSError) as error:
            return {"error": str(error)}
        return {"error": "the request is not known; hint: do: status, dump, add, del, packets, deploy, restore"}

    async def _deploy(self, request: dict[str, Any]) -> dict[str, Any]:
        """Compiles meanwhile: the agent's thread goes on."""
        file, rules = Path(str(request.get("file"))), request.get("rules")
        sizes, lanes = Sizes.of(self.switch.pipeline.image), self.switch.lanes
        try:
            made = await asyncio.to_thread(compiled, file, Path(str(rules)) if rules else None, sizes, lanes)
            self.switch.deploy(Deployed(file.name, made.program))
        except (DeployError, Refusal, OSError) as error:
            return {"error": str(error)}
        return made.report()

    def _flows(self) -> Iterator[Any]:
        for reply in self._asked(codec.OFPFlowStatsRequest(None)):
            yield from codec.msg(None, *messages.header(reply), reply).body

    def _asked(self, request: Any) -> list[bytes]:
        request.serialize()
        return [*self.session.handle(bytes(request.buf))]

    def _change(self, request: Any) -> dict[str, Any]:
        before = len(self.switch.flows.by_key)
        if answers := [codec.msg(None, *messages.header(data), data) for data in self._asked(request)]:
            return {"error": self.switch.why_refused, "type": answers[0].type, "code": answers[0].code}
        self.switch.load()
        return {"flows": len(self.switch.flows.by_key), "changed": abs(len(self.switch.flows.by_key) - before)}

    async def _packets(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, follow: bool) -> None:
        last: Shown | None = None
        while not reader.at_eof():
            shown = [*self.switch.shown]
            new = shown[shown.index(last) + 1 :] if last in shown else shown
            for one in new:
                _write(writer, {**asdict(one), "data": one.data.hex(), "reason": _reason(one.reason)})
            last = shown[-1] if shown else None
            if not follow:
                _write(writer, {"end": True})
                return
            await writer.drain()
            await asyncio.sleep(POLL)


def _reason(reason: int) -> str:
    return {of.OFPR_NO_MATCH: "no match", of.OFPR_ACTION: "action"}.get(reason, str(reason))


def _request(line: bytes) -> dict[str, Any]:
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _write(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    writer.write(json.dumps(answer).encode() + b"\n")


def ask(path: Path, request: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The answers of the agent behind a socket; more than one for packets. Raises OSError."""
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(path))
        client.sendall(json.dumps(request).encode() + b"\n")
        with client.makefile("rb") as answers:
            for line in answers:
                answer = json.loads(line)
                if answer.get("end"):
                    return
                yield answer
                if request["do"] != "packets":
                    return

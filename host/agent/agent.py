# SPDX-License-Identifier: Apache-2.0
"""The agent's loop: connections to the controllers, the device, the local API. One thread; nothing in it waits for long."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from c65of import ofproto as of

from host.agent import messages
from host.agent.channel import Channel, ChannelError
from host.agent.local import LocalApi
from host.agent.session import Session
from host.agent.switch import Switch

FIRST_WAIT, LONGEST_WAIT = 0.25, 4.0  # seconds between two attempts to connect
PROBE, SILENCE = 5.0, 15.0  # seconds without a message: an echo request is sent; the connection is given up
CHECK = 1.0  # seconds between two looks at the device and at timeouts
NAP = 0.002  # seconds that a device without descriptors may wait for us
BURST = 64  # packets of the device in one turn
BACKLOG = 1 << 20  # bytes that wait for a controller; events beyond are lost and counted
LOG = logging.getLogger("sluice.agent")


@dataclass
class Connection:
    """A controller and what became of it."""

    host: str
    port: int
    connected: bool = False
    attempts: int = 0
    role: int = of.OFPCR_ROLE_EQUAL
    session: Session | None = None


class Agent:
    """A switch with its controllers."""

    def __init__(self, switch: Switch, controllers: Sequence[tuple[str, int]], api: Path | None = None) -> None:
        self.switch, self.channel = switch, switch.channel
        self.connections = [Connection(host, port) for host, port in controllers]
        self.api = LocalApi(switch, api, self.status) if api else None
        self.ready = asyncio.Event()
        self.failed = False  # the device does not do what it is asked for
        self.flush_is_due = False

    def status(self) -> dict[str, object]:
        """The state of the agent, for the local API."""
        return {
            "device_ok": not self.failed,
            "controllers": [
                {"controller": f"{one.host}:{one.port}", "connected": one.connected, "attempts": one.attempts}
                for one in self.connections
            ],
        }

    async def run(self) -> None:
        """Until it is cancelled."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._device())
            tasks.create_task(self._checks())
            for connection in self.connections:
                tasks.create_task(self._controller(connection))
            if self.api:
                tasks.create_task(self.api.serve())

    # The device.

    async def _device(self) -> None:
        loop = asyncio.get_running_loop()
        for descriptor in self.channel.descriptors():
            loop.add_reader(descriptor, self.ready.set)
        while True:
            busy = self._turn(self.channel)
            if busy:
                await asyncio.sleep(0)
                continue
            self.ready.clear()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.ready.wait(), NAP)

    def _turn(self, channel: Channel) -> bool:
        try:
            busy = channel.pass_time()
            received = sum(self.switch.receive() for _ in range(BURST))
            return busy or received > 0
        except ChannelError as error:
            self._fail(error)
            return False

    async def _checks(self) -> None:
        while True:
            await asyncio.sleep(CHECK)
            self._guarded(self.switch.check)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
            self.failed = False
        except ChannelError as error:
            self._fail(error)

    def _fail(self, error: ChannelError) -> None:
        if not self.failed:
            LOG.warning("the device: %s; trying again", error)
        self.failed = True

    def _flush(self) -> None:
        """Load what was asked for without a barrier, when no more requests wait."""
        self.flush_is_due = False
        self._guarded(self.switch.load)

    # Controllers.

    async def _controller(self, connection: Connection) -> None:
        wait = FIRST_WAIT
        while True:
            connection.attempts += 1
            try:
                reader, writer = await asyncio.open_connection(connection.host, connection.port)
            except OSError as error:
                LOG.info("%s:%d: %s; again in %.2f s", connection.host, connection.port, error, wait)
            else:
                if await self._session(connection, reader, writer):
                    wait = FIRST_WAIT
            await asyncio.sleep(wait)
            wait = min(2 * wait, LONGEST_WAIT)

    async def _session(self, connection: Connection, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Serve a controller until it is gone; whether it ever was one."""

        def send(data: bytes) -> None:
            if writer.transport.get_write_buffer_size() > BACKLOG:
                self.switch.counters["events_lost"] += 1
            elif not writer.is_closing():
                writer.write(data)

        session = Session(self.switch, send)
        session.demote = self._demote
        connection.session = session
        self.switch.listeners.append(session.tell)
        try:
            writer.write(session.hello())
            while True:
                data = await self._message(reader, writer)
                for reply in session.handle(data):
                    writer.write(reply)
                await writer.drain()
                connection.connected = session.greeted
                self._flush_soon()
        except (OSError, EOFError, asyncio.IncompleteReadError) as error:
            LOG.info("%s:%d: the session is over: %s", connection.host, connection.port, error or "closed")
        finally:
            self.switch.listeners.remove(session.tell)
            connection.connected, connection.session = False, None
            writer.close()
        return session.greeted

    def _flush_soon(self) -> None:
        if self.switch.loads_wanted and not self.flush_is_due:
            self.flush_is_due = True
            asyncio.get_running_loop().call_soon(self._flush)

    def _demote(self, master: Session) -> None:
        """There is one master."""
        for connection in self.connections:
            if (
                connection.session is not None
                and connection.session is not master
                and connection.session.role == of.OFPCR_ROLE_MASTER
            ):
                connection.session.role = of.OFPCR_ROLE_SLAVE

    @staticmethod
    async def _message(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bytes:
        """The next message of a controller, which is asked for a sign of life where it is silent. Raises OSError, EOFError."""
        head = asyncio.ensure_future(reader.readexactly(messages.HEADER))
        try:
            silent = 0.0
            while not head.done():
                await asyncio.wait([head], timeout=PROBE)
                if not head.done():
                    silent += PROBE
                    if silent >= SILENCE:
                        raise TimeoutError(f"silent for {SILENCE:.0f} s")
                    writer.write(messages.message(of.OFPT_ECHO_REQUEST, 0))
        finally:
            head.cancel()
        length = messages.header(head.result())[2]
        if length < messages.HEADER:
            raise ConnectionError(f"a message of {length} bytes")
        rest = await asyncio.wait_for(reader.readexactly(length - messages.HEADER), SILENCE)
        return head.result() + rest

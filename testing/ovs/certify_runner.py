# SPDX-License-Identifier: Apache-2.0
"""Runs cases of os-ken's OpenFlow switch tester and prints an answer of each as a line of JSON; `certify.py` starts it.

    python certify_runner.py CASES REPEAT      with OSKEN_HUB_TYPE=eventlet: under the default hub the tester hangs

CASES is a file of JSON: [[file, [index, ...]], ...]. Both switches connect to port 6653. What the tester does is os-ken's own; only
the order, which cases, and how often a case's packets are sent are said here. It ends by being ended.
"""

from __future__ import annotations

import json
import logging
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from os_ken.lib import hub  # type: ignore[import-not-found]

hub.patch(thread=False)

from os_ken import flags  # type: ignore[import-not-found]  # noqa: E402, F401, declares the options
from os_ken.base.app_manager import AppManager  # type: ignore[import-not-found]  # noqa: E402
from os_ken.tests.switch import tester  # type: ignore[import-not-found]  # noqa: E402

SETTLE = 0.1  # seconds before each packet: the flows of the last case are gone then, and a rule is in hardware
SWITCH = "ovs-vswitchd.ctl"  # the socket of the switch under test, beside CASES, where it is Open vSwitch


class Last(logging.Handler):
    """Keeps the tester's last words."""

    words = ""

    def emit(self, record: logging.LogRecord) -> None:
        """Called for each line that the tester says."""
        self.words = " ".join(record.getMessage().split())


class Runner(tester.OfTester):  # type: ignore[misc]
    """The tester with cases of our choice and answers for programs."""

    def _set_logger(self) -> None:
        self.last = Last()
        self.logger.propagate = False
        self.logger.setLevel(logging.INFO)
        self.logger.addHandler(self.last)

    def _test_sequential_execute(self, test_dir: str) -> None:
        del test_dir
        for path, indices in json.loads(Path(sys.argv[1]).read_text()):
            cases = tester.TestFile(path, self.logger).tests
            for index in indices:
                self._forget_flows()
                began = time.monotonic()
                words = self._answer(cases[index])
                said = {"file": path, "index": index, "words": words, "seconds": round(time.monotonic() - began, 2)}
                print(json.dumps(said), flush=True)
        print(json.dumps(None), flush=True)

    def _forget_flows(self) -> None:
        """Empty the datapath: OVS would change flows of the last case to fit, and add its packets to the next one's tables."""
        control = Path(sys.argv[1]).with_name(SWITCH)
        if not control.exists():
            return
        subprocess.run(["ovs-appctl", "-t", str(control), "dpctl/del-flows"], check=True, capture_output=True)

    def _answer(self, case: Any) -> str:
        """What the tester has against the switch; "" where the case is OK."""
        single = [packet for packet in case.tests if tester.KEY_INGRESS in packet]
        case.tests += (int(sys.argv[2]) - 1) * single
        try:
            kind = self._test_execute(case, None)
        except Exception as error:  # assertions in the tester, about what it receives
            self.waiter = None
            return f"Exception in the tester: {type(error).__name__} {error}"
        return "" if kind == tester.TEST_OK else self.last.words

    def _one_time_packet_send(self, pkt: Any) -> None:
        hub.sleep(SETTLE)
        super()._one_time_packet_send(pkt)


if __name__ == "__main__":
    tester.CONF([], project="os_ken")
    AppManager.run_apps(["os_ken.controller.ofp_handler", "testing.ovs.certify_runner"])

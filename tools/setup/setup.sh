#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the project's environment: Debian packages (as root), build/env with the pinned Python packages, generated layouts.
# Does nothing, quickly, when it is all there. Safe to run again after any failure. `--bench` also installs the peers.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"

if ! command -v python3 >/dev/null || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
  if [ "$(id -u)" != 0 ]; then
    echo "setup: python3 with venv is missing; as root: apt-get install python3 python3-venv" >&2
    exit 1
  fi
  echo "setup: installing python3"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
fi
exec python3 tools/setup/setup.py "$@"

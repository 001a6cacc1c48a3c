#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Makes the project's environment: Debian packages (as root), build/env with the pinned Python packages, generated layouts.
# Does nothing, quickly, when it is all there. Safe to run again after any failure. `--bench` also installs the peers, `--dpdk`
# what the driver for DPDK is built with.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$root"

# Nothing that set-up reads has changed since it last ended: most calls end here, in milliseconds.
done=build/env/sluice-done
case "$*" in
'') wanted=$done ;;
--dpdk) wanted=build/dpdk/done ;;
*) wanted=/nonexistent ;;
esac
if [ -e "$wanted" ] && [ -e "$done" ] && [ -x build/env/bin/python ] && [ -e build/gen/sluice_layouts.py ] &&
  [ -z "$(find toolchain.toml requirements.lock toolchain/setup layouts compiler -name __pycache__ -prune -o -newer "$done" -print -quit)" ]; then
  exit 0
fi

if ! command -v python3 >/dev/null || ! python3 -c 'import venv, ensurepip' 2>/dev/null; then
  if [ "$(id -u)" != 0 ]; then
    echo "setup: python3 with venv is missing; as root: apt-get install python3 python3-venv" >&2
    exit 1
  fi
  echo "setup: installing python3"
  apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends python3 python3-venv >/dev/null
fi
exec python3 toolchain/setup/setup.py "$@"

#!/bin/sh
# Installs what is missing of config/packages.debian: sh config/setup.sh build [test] [report] [slurm] [quality] [browser]
# As root or with sudo; where neither works, prints the one command to run and fails.
set -eu
here=$(dirname "$0")
missing=
for set in "$@"; do
  for package in $(sed -n "s/^$set //p" "$here/packages.debian"); do
    dpkg-query -W -f='${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
  done
done
[ -n "$missing" ] || exit 0
command="apt-get install -y --no-install-recommends$missing"
if ! command -v apt-get >/dev/null; then
  echo "stickslip needs these Debian 12 packages, or the same software from another source:$missing" >&2
  exit 1
fi
if [ "$(id -u)" = 0 ]; then as=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then as="sudo "
else
  echo "Some packages are missing. Please run:" >&2
  echo "  sudo apt-get update && sudo $command" >&2
  exit 1
fi
echo "Installing the missing packages:$missing"
export DEBIAN_FRONTEND=noninteractive
log=$(mktemp)
if ! { ${as}apt-get update && $as$command; } >"$log" 2>&1; then
  tail -n 20 "$log" >&2
  echo "The installation failed; please run:  ${as}apt-get update && $as$command" >&2
  exit 1
fi
rm -f "$log"

# What the scripts share: where things are, how they speak, and how a step is timed. Sourced, never run.
# shellcheck shell=bash

set -euo pipefail

ROOT="$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)"
cd "$ROOT"

# The build step runs one compiler a core; memory is no concern below 2 GB a core.
JOBS="${JOBS:-$(nproc)}"

say() { printf '== %s\n' "$*"; }
die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 1
}

# as_root COMMAND…: runs it as root, with sudo where we are not root already.
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  elif command -v sudo >/dev/null; then
    sudo "$@"
  else
    die "need root for: $* (and there is no sudo here)"
  fi
}

# quietly LOG COMMAND…: output goes to LOG; its tail is shown when the command fails. Returns the command's status.
quietly() {
  local log=$1 status=0
  shift
  mkdir -p "$(dirname "$log")"
  "$@" >"$log" 2>&1 </dev/null || status=$?
  if [ "$status" -ne 0 ]; then
    printf -- '---- the end of %s\n' "$log"
    tail -n 60 "$log"
    printf -- '----\n'
  fi
  return "$status"
}

# has_digest FILE SHA256: true when FILE exists and has that digest.
has_digest() { [ -f "$1" ] && [ "$(sha256sum <"$1" | cut -d' ' -f1)" = "$2" ]; }

# Sourced by the scripts of this folder. Sets $root, works from any directory and with spaces in paths.
root=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
export LC_ALL=C.UTF-8

say() { printf '%s\n' "$*"; }
title() { printf '\n== %s\n' "$*"; }
die() { printf '%s: %s\n' "${0##*/}" "$*" >&2; exit 1; }

# The script's own header comment, without the interpreter line, is its help.
usage() { sed -n '2,/^[^#]/{/^#/s/^# \{0,1\}//p}' "$0"; }

# jobs: one compiler a core, but no more than memory allows (1 GiB each).
jobs() {
  local cores memory
  cores=$(nproc)
  memory=$(awk '/MemAvailable/ {print int($2 / 1048576)}' /proc/meminfo 2>/dev/null || echo "$cores")
  [ "$memory" -ge 1 ] || memory=1
  [ "$cores" -le "$memory" ] && echo "$cores" || echo "$memory"
}

# quarters: what `ctest -j` is told, since PROCESSORS of a test are quarters of a processor (HACKING.md).
quarters() { echo $((4 * $(jobs))); }

# Objects of one tree serve another: what ccache hashes must not depend on where the tree stands.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$root}" CCACHE_NOHASHDIR="${CCACHE_NOHASHDIR:-1}"
# It keeps objects made with precompiled headers only when told that dates and macros of these do not matter.
export CCACHE_SLOPPINESS="${CCACHE_SLOPPINESS:-pch_defines,time_macros}"

#!/bin/sh
# Counts job keys in the references: sh config/count_keys.sh [PROGRAM]. One key is one row; keys that several kinds of bodies or models of materials
# share have one row, and tables that occur at several places are counted once.
program=${1:-build/stickslip}
count() { awk '/^\| key \| type/ { inside = 1; next } /^$/ { inside = 0 } inside && /^\| `/ { ++n } END { print n + 0 }'; }
echo "$("$program" schema job | count) keys, and $("$program" schema job --expert | count) keys for experts"

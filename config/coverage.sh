#!/bin/sh
# Line coverage per folder of src after the tests of a build with PROFILE=coverage: sh config/coverage.sh BUILD_FOLDER [-f]
# -f: also one line per file, least covered first.
B=${1:?usage: coverage.sh BUILD_FOLDER [-f]}
cd "$(dirname "$0")/.." || exit 1
# Files that no test linked have no .gcda; gcov then counts all their lines as not executed.
find "$B/src" -name '*.gcno' | sed "s|^$B/||; s|\.gcno$||" | xargs -P "$(nproc)" -n 8 sh -c 'B=$1; shift; for stem; do
  [ -f "$stem.c" ] && gcov -n "$B/$stem.gcno" 2>/dev/null | awk -v file="$stem.c" "
    index(\$0, \"File \") == 1 { mine = index(\$0, \"\047\" file \"\047\") } mine && /^Lines executed:/ { split(\$0, w, /[:% ]+/); print file, w[3], w[5]; mine = 0 }"
done' gcov_all "$B" | awk -v per_file="${2:-}" '
  { covered = $2 * $3 / 100; folder = $1; sub(/^src\//, "", folder); sub(/\/[^\/]*$/, "", folder); lines[folder] += $3; hit[folder] += covered; all += $3; all_hit += covered
    if (per_file == "-f") printf "%5.1f %% of %5d  %s\n", $2, $3, $1 | "sort -n" }
  END { close("sort -n"); for (f in lines) printf "%-26s %6d lines %5.1f %%\n", f, lines[f], 100 * hit[f] / lines[f] | "sort"; close("sort")
    printf "%-26s %6d lines %5.1f %%\n", "total", all, all ? 100 * all_hit / all : 0 }'

# Two arms with a slab of dough, on a coarse grid: their grippers take hold of it, and a pin that they hold rolls on it. 1 = 2 = 3 threads, resumed = uninterrupted, bit for bit.
. tests/integration/common.sh
models=$(pwd)/jobs/convex/models
from() { # TABLE TIME: the way from that time on
  awk -F, -v OFS=, -v t="$2" 'NR == 1 { print; next } $1 >= t - 1e-9 { $1 = $1 - t; print }' "$models/$1.csv" >"$work/$1.csv"
}
last() { tail -1 "$work/whole/measure/$1.csv" | cut -d, -f3; }
most() { # COLUMN of history
  awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; ++i) { sub(/ .*/, "", $i); if ($i == name) k = i } next } { if ($k > m) m = $k } END { print m + 0 }' "$work/whole/history.csv"
}
holds() { awk "BEGIN { exit !($1) }" || fail "$2: $1"; pass "$2"; } # EXPRESSION WHAT
for side in left right; do from tear_$side 0.7; from roll_$side 0.3; done
job=$(pwd)/jobs/convex/dough_tearing.yaml
runs_alike_on_threads "$job" --set bodies.dough.spacing=0.04 --set bodies.left.trajectory="$work/tear_left.csv" \
  --set bodies.right.trajectory="$work/tear_right.csv" --set time.end=0.15 --set output.checkpoint=0.08
resumes_from_everywhere grip pull
holds "$(last grip) > 10" "fingers press the dough"
holds "$(most cone_violation) < 1e-12" "no impulse leaves its cone"
job=$(pwd)/jobs/convex/dough_rolling.yaml
rm -rf "$work/whole"
status 0 "$program" run "$job" --out "$work/whole" --no-picture --threads 1 --set bodies.dough.spacing=0.04 \
  --set bodies.left.trajectory="$work/roll_left.csv" --set bodies.right.trajectory="$work/roll_right.csv" --set time.end=0.3
holds "$(last push) > 10" "the pin presses the dough"
ratio=$(awk "BEGIN { print $(last angle) * 0.03 / ($(last x) - 0.13) }")
holds "$ratio > 0.2 && $ratio < 1.1" "the pin begins to roll" # the dough yields before the pin rolls
holds "$(most cone_violation) < 1e-12" "no impulse leaves its cone"

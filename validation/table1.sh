#!/bin/sh
# The rows of Table 1 of [DingSchroeder2020] at full size, on one thread each, without frames but the first and the last.
#
#   sh validation/table1.sh run [ROW ...]   runs rows (all if none is named: a day) into build/table1, again if they are there already:
#                                           the quicker of the two runs is kept, as other work on the machine only slows it down
#   sh validation/table1.sh published [ROW ...]   the same as the paper stops: its tolerances, min(|g|, |H^T g|) of Euclidean norms,
#                                           g in N s, H in kg, and GMRES cut short after 20 iterations; into build/table1-published
#   sh validation/table1.sh table           the Markdown table of what has been run
#
# A row is named as its job, see validation/table1.csv. ROW=SECONDS runs that row for so many simulated seconds.
# OUT: another folder. SET: keys for all of them, as in OUT=build/loose SET="solver.newton.tolerance=1 solver.linear.tolerance=0.03" sh ...
cd "$(dirname "$0")/.." || exit 1
program=${PROGRAM:-build/release/stickslip} out=${OUT:-build/table1} paper=validation/table1.csv
export OMP_NUM_THREADS=1

user_time() { sed -n 's/^user CPU time *\([0-9.e+-]*\) s.*/\1/p' "$1/summary.txt" 2>/dev/null; }

run_row() { # row, seconds ("-": as the job says)
  mkdir -p "$out"
  rm -rf "$out/$1.new"
  set -- "$1" "$2" run "jobs/penalty/$1.yaml" --threads 1 --out "$out/$1.new" --set time.frame=0 --set output.checkpoint=0
  row=$1 seconds=$2
  shift 2
  [ "$seconds" = - ] || set -- "$@" --set "time.end=$seconds"
  for key in ${SET:-}; do set -- "$@" --set "$key"; done
  "$program" "$@" >"$out/$row.log" 2>&1 || { echo "$row: failed, see $out/$row.log"; return 1; }
  before=$(user_time "$out/$row") now=$(user_time "$out/$row.new")
  echo "$row: $now s of user CPU time${before:+, $before s in the previous run}"
  if [ -n "$before" ] && cmp -s "$out/$row/job.yaml" "$out/$row.new/job.yaml" && awk "BEGIN { exit !($before <= $now) }"; then
    rm -rf "$out/$row.new"
  else
    rm -rf "${out:?}/$row"
    mv "$out/$row.new" "$out/$row"
  fi
}

# Options of the published run of row $1: its norm and tolerance; a stalled line search is accepted. The paper does not state GMRES's tolerance.
published() {
  tau=$(grep -v '^#' $paper | awk -F, -v row="$1" '$2 == row { print $11 }')
  [ "$tau" != - ] || return 1
  echo "solver.penalty.expert.norm=impulse solver.newton.tolerance=$tau solver.newton.stall_tolerance=1e9 solver.newton.max_iterations=1000" \
    "solver.linear.tolerance=0.01 solver.linear.max_iterations=20 solver.linear.restart=20"
}

case ${1:-} in
run | published)
  mode=$1 more=${SET:-}
  [ "$mode" = run ] || out=${OUT:-build/table1-published}
  shift
  failed=0
  [ $# -gt 0 ] || set -- $(grep -v '^#' $paper | cut -d, -f2)
  for row in "$@"; do
    seconds=${row#*=} row=${row%%=*}
    line=$(grep -v '^#' $paper | awk -F, -v row="$row" '$2 == row')
    [ -n "$line" ] || { echo "$row: not found in $paper"; failed=1; continue; }
    [ "$seconds" != "$row" ] || seconds=$(echo "$line" | cut -d, -f10)
    if [ "$mode" = published ]; then
      rule=$(published "$row") || { echo "$row: its tolerance is not readable in the publication"; failed=1; continue; }
      SET="$rule $more"
    fi
    run_row "$row" "$seconds" || failed=1
  done
  exit $failed ;;
table)
  echo "| scene | dt | mu | k | simulated | paper, s/frame | here, s/frame | ratio | Newton a step | GMRES a step | contacts | penetration, mm | collision search | moved on, longest chain |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|"
  grep -v '^#' $paper | while IFS=, read -r name job dt seconds threads mu k grid points window tolerance; do
    d=$out/$job
    if [ ! -f "$d/summary.txt" ]; then echo "| $name | | | | not run | $seconds | | | | | | | | |"; continue; fi
    awk -v name="$name" -v dt="$dt" -v seconds="$seconds" -v threads="$threads" -v mu="$mu" -v k="$k" '
      FILENAME ~ /job.yaml$/ {
        if (/^[a-z]/) part = $1
        if (part == "time:" && $1 == "step:") step = $2
        if (part == "contact:" && $1 == "friction:") friction = $2
        if (part == "contact:" && $1 == "stiffness:") stiffness = $2
        next
      }
      /^simulated/ { simulated = $2; retries = $7 }
      /^user CPU time/ { here = $6 }
      /^Newton iterations/ { newton = $3 }
      /^GMRES/ { gmres = $3 }
      /^contacts/ { contacts = $2; most = $7 }
      /^  penetration/ { deepest = 1000 * $4 }
      /^relaxations/ { relaxed = sprintf("%.2f %%, %d", 100 - $3, $11) }
      /^contact search/ { search = $3 " %" }
      function mark(ours, theirs) { return (theirs == "-" || ours + 0 == theirs + 0) ? ours : ours " (paper " theirs ")" }
      END {
        if (seconds == "-") ratio = ""
        else ratio = sprintf("%.3g", seconds / here)
        said = (retries + 0 > 0) ? ", retries " retries : ""
        on = (threads > 1) ? " (" threads " threads)" : ""
        printf "| %s | %s | %s | %s | %s s%s ", name, mark(step, dt), mark(friction, mu), mark(stiffness, k), simulated, said
        printf "| %s%s | %.3g | %s | %s | %s ", seconds, on, here, ratio, newton, gmres
        printf "| %s, most %s | %.3g | %s | %s |\n", contacts, most, deepest, search, relaxed
      }' "$d/job.yaml" "$d/summary.txt"
  done ;;
*)
  sed -n '2,11s/^# \{0,1\}//p' "$0"
  exit 2 ;;
esac

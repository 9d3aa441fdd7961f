#!/bin/sh
# Table I of [ZongJiangHan2024] beside jobs/convex, at full size, on one and on two threads.
#
#   sh validation/convex.sh run [ROW ...]     runs rows (all if none is named) on one thread and on two into build/convex, unless they are there
#   sh validation/convex.sh table             the Markdown table of what has been run
#
# Rows are named in validation/convex.csv. END=t: run to this time [s] instead of the job's. Seconds are of a step: of the processor, user time of one thread, which a busy machine
# changes least; of the clock, for one thread and two.
cd "$(dirname "$0")/.." || exit 1
program=${PROGRAM:-build/release/stickslip} paper=validation/convex.csv out=${OUT:-build/convex} folder=convex
. validation/rows.sh

run_row() { # name, example, job, set
  run_once "$1-1" "$3" 1 "$4 ${END:+time.end=$END}" && run_once "$1-2" "$3" 2 "$4 ${END:+time.end=$END}"
}

print_row() { # name, example, of the paper: particles, spacing, unknowns, run time, contacts; job
  one=$out/$1-1 two=$out/$1-2
  [ -f "$one/summary.txt" ] || { echo "| $2 | not run | | | | | | | | | |"; return; }
  points=$("$program" check "jobs/convex/$8.yaml" | awk '$2 == "mpm" { n += $(NF - 1) } END { print n }')
  h=$(sed -n 's/.*spacing: *\([0-9.e-]*\).*/\1/p' "$one/job.yaml" | head -1)
  user=$(awk '/^user CPU time/ { print $4 }' "$one/summary.txt")
  wall() { awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i ~ /^seconds/) c = i; next } $1 > 0 { s += $c; ++n } END { if (n) printf "%.4f", s / n }' "$1/history.csv"; }
  [ -f "$two/summary.txt" ] && clock2=$(wall "$two") || clock2=-
  awk -F, -v name="$2" -v p="$3" -v ph="$4" -v pu="$5" -v pt="$6" -v pc="$7" -v points="$points" -v h="$h" -v user="$user" -v clock1="$(wall "$one")" -v clock2="$clock2" '
    NR == 1 { for (i = 1; i <= NF; ++i) { c = $i; sub(/ \[.*/, "", c); at[c] = i } next }
    $at["step"] > 0 {
      ++n; k = $at["contacts"]; contacts += k; if (k > most) most = k
      if ($at["over_constraint"] > 0) { u += 3 * $at["contact_candidates"] / $at["over_constraint"]; ++in_contact }
      newton += $at["newton_iterations"]; inner += $at["linear_iterations"] }
    END { printf "| %s | %s / %s | %s / %s | %s / %.1f | %s / %.1f (%d) | %s | %.4f | %s | %s | %.2f | %.1f |\n", name, p, points, ph, h, pu, in_contact ? u / in_contact : 0, pc,
      n ? contacts / n : 0, most, pt, user / n, clock1, clock2, newton / n, in_contact ? inner / in_contact : 0 }' "$one/history.csv"
}

case ${1:-} in
run) shift; run_rows "$@" ;;
table)
  echo "| example | particles | spacing [m] | unknowns, mean | contacts, mean (max) | run time, paper | CPU s a step, 1 thread | clock s a step, 1 | clock s a step, 2 | free motion, Newton a step | contact, Newton a step |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|"
  while IFS='|' read -r name example job setting particles spacing unknowns time contacts; do
    case "$name" in \#*) continue ;; esac
    print_row "$name" "$example" "$particles" "$spacing" "$unknowns" "$time" "$contacts" "$job"
  done < $paper ;;
*)
  sed -n '2,9s/^# \{0,1\}//p' "$0"
  exit 2 ;;
esac

#!/bin/sh
# Tables 2 and 3, and Figs. 1 and 13, of [MarquezRazonEtAl2023] beside jobs/hybrid.
#
#   sh validation/hybrid.sh run [ROW ...]     runs rows (all if none is named) into build/hybrid, unless they are there
#   sh validation/hybrid.sh table             the Markdown table of what has been run
#   sh validation/hybrid.sh plot              iterations of impulses with the grid and without, of rows run both ways: build/hybrid/ROW_impulses.png (gnuplot)
#
# Rows are named in validation/hybrid.csv. END=t: run to this time [s] instead of the job's; THREADS: 2 if not given. Seconds a step are of the clock, and of the processor over the threads, which a busy
# machine changes less.
cd "$(dirname "$0")/.." || exit 1
program=${PROGRAM:-build/release/stickslip} paper=validation/hybrid.csv out=${OUT:-build/hybrid} threads=${THREADS:-2} folder=hybrid
. validation/rows.sh

run_row() { # name, example, job, set
  run_once "$1" "$3" "$threads" "$4 ${END:+time.end=$END}"
}

print_row() { # name, example, of the paper: nodes, s a step, run time
  one=$out/$1
  [ -f "$one/summary.txt" ] || { echo "| $2 | not run | | | | | | | | |"; return; }
  nodes=$("$program" check "$one/job.yaml" | awk '$2 == "fem" { for (i = 1; i <= NF; ++i) if ($i ~ /^nodes/) n += $(i - 1) } END { print n }')
  user=$(awk '/^user CPU time/ { print $4 }' "$one/summary.txt")
  awk -F, -v name="$2" -v pn="$3" -v ps="$4" -v pt="$5" -v nodes="$nodes" -v user="$user" '
    NR == 1 { for (i = 1; i <= NF; ++i) { c = $i; sub(/ \[.*/, "", c); at[c] = i } next }
    $at["step"] > 0 {
      ++n; s += $at["seconds"]; newton += $at["newton_iterations"]; krylov += $at["inner_iterations"]; t = $at["time"]
      k = $at["linear_iterations"]; impulse += k; if (k > most) most = k; augury += $at["transfer_iterations"]; zones += $at["rigid_zone_nodes"] }
    END { if (n) printf "| %s | %s / %d | %g s, %d | %s / %.3f | %.3f | %s / %.0f | %.2f, %.0f | %.2f | %.2f (%d) | %d |\n", name, pn, nodes, t, n, ps, s / n, user / n, pt, s,
      newton / n, krylov / n, augury / n, impulse / n, most, zones }' "$one/history.csv"
}

plot_rows() {
  for without in "$out"/*_impulses; do
    with=${without%_impulses}
    [ -f "$with/history.csv" ] && [ -f "$without/history.csv" ] || continue
    gnuplot -e "out = '$out'; with = '${with##*/}'; without = '${without##*/}'" validation/hybrid.gp && echo "$out/${with##*/}_impulses.png"
  done
}

case ${1:-} in
plot) plot_rows ;;
run) shift; run_rows "$@" ;;
table)
  echo "| example | nodes, paper / here | simulated, steps | s a step, paper / here | CPU s a step, here | run time [s], paper / here | Newton, CG a step | augury iterations a step | impulse iterations a step, mean (most) | impact zones |"
  echo "|---|---|---|---|---|---|---|---|---|---|"
  while IFS='|' read -r name example job setting nodes step run steps; do
    case "$name" in \#*) continue ;; esac
    print_row "$name" "$example" "$nodes" "$step" "$run"
  done < $paper ;;
*)
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  exit 2 ;;
esac

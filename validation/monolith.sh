#!/bin/sh
# The rows of Tables 1 to 7 of [TakahashiBatty2021], on one thread each, beside what the paper says.
#
#   sh validation/monolith.sh run [TABLE | ROW ...]     runs rows at full size (all if none is named: a day) into build/monolith, unless they are there
#   sh validation/monolith.sh small [TABLE | ROW ...]   the same with cells twice to four times as wide, into build/monolith-small
#   sh validation/monolith.sh table [small]             the Markdown table of what has been run
#   sh validation/monolith.sh plot [small]              Figs. 7, 8, 10, 12, 16 and 18 from it: seconds of each frame (gnuplot), tableN.png beside the runs
#
# Rows are named in validation/monolith.csv. FRAMES=N: so many frames of 1/50 s; 25 if it is not set. All numbers are per frame; seconds are of the
# processor, of all of a step (user CPU time of summary.txt), in plots of the clock.
cd "$(dirname "$0")/.." || exit 1
program=${PROGRAM:-build/release/stickslip} paper=validation/monolith.csv frames=${FRAMES:-25} folder=monolith
. validation/rows.sh

run_row() { # name, table, row, job, small spacing, set
  [ "$size" = small ] && spacing=mac.spacing=$5 || spacing=
  run_once "$1" "$4" 1 "$6 $spacing time.end=$(awk "BEGIN { print $frames * 0.02 }") time.frame=0.02" --no-picture
}

print_row() { # all fields of a line
  h=$out/$1/history.csv
  [ -f "$h" ] || { echo "| $2 | $3 | not run | | | | | | | | |"; return; }
  cpu=$(awk '/^user CPU time/ { print $4 }' "$out/$1/summary.txt")
  awk -F, -v cpu="$cpu" -v table="$2" -v row="$3" -v outer="$7" -v s="$8" -v p="$9" -v sd="${10}" -v pd="${11}" -v n="${12}" -v seconds="${13}" '
    NR == 1 { for (i = 1; i <= NF; ++i) { name = $i; sub(/ \[.*/, "", name); at[name] = i } next }
    $at["step"] > 0 {
      ++steps; end = $at["time"]
      o += $at["newton_iterations"]; ip += $at["linear_iterations"]; is += $at["stress_iterations"]; up += $at["pressure_unknowns"]; us += $at["stress_unknowns"]
      if ($at["yield_ratio"] > yield) yield = $at["yield_ratio"]; error += $at["coupling_error"] }
    function pair(ours, theirs, form) { return (theirs == "-" ? "" : theirs + 0 " / ") sprintf(form, ours) }
    END {
      f = end / 0.02
      if (!(f > 0)) { printf "| %s | %s | no step | | | | | | | | |\n", table, row; exit }
      printf "| %s | %s | %d | %s | %s | %s | %s | %s | %s | %s | %.2g, %.2f |\n", table, row, f + 0.5, pair(o / f, outer, "%.1f"), pair(is / f, s, "%.0f"), pair(ip / f, p, "%.0f"),
        pair(us / steps, sd, "%.0f"), pair(up / steps, pd, "%.0f"), pair(steps / f, n, "%.1f"), pair(cpu / f, seconds, "%.3g"), error / steps, yield }' "$h"
}

# Seconds of each frame against its number, a line a row of the table.
plot_table() { # table
  lines=
  while IFS='|' read -r name table row rest; do
    [ "$table" = "$1" ] && [ -f "$out/$name/history.csv" ] || continue
    awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) { name = $i; sub(/ \[.*/, "", name); at[name] = i } next }
      { f = int($at["time"] / 0.02 + 0.999999); sum[f] += $at["seconds"]; if (f > last) last = f } END { for (f = 1; f <= last; ++f) print f, sum[f] }' \
      "$out/$name/history.csv" >"$out/$name/profile.txt"
    lines="$lines${lines:+, }\"$out/$name/profile.txt\" with lines title \"$row\""
  done < $paper
  [ -n "$lines" ] || return 0
  echo "set terminal pngcairo noenhanced size 900,500; set output '$out/table$1.png'; set title 'Table $1'; set xlabel 'frame'; set ylabel 'seconds';
    set logscale y; set key outside; plot $lines" | gnuplot && echo "$out/table$1.png"
}

size=full
case ${1:-} in
run | small)
  [ "$1" = small ] && size=small
  out=${OUT:-build/monolith$([ "$1" = small ] && echo -small)}
  shift
  run_rows "$@" ;;
table)
  out=${OUT:-build/monolith${2:+-$2}}
  echo "| table | row | frames | outer, paper / here | inner of s | inner of p | unknown s | unknown p | substeps | seconds | error, worst yield |"
  echo "|---|---|---|---|---|---|---|---|---|---|---|"
  while IFS='|' read -r name table row job spacing setting a b c d e f g; do
    case "$name" in \#*) continue ;; esac
    print_row "$name" "$table" "$row" "$job" "$spacing" "$setting" "$a" "$b" "$c" "$d" "$e" "$f" "$g"
  done < $paper ;;
plot)
  out=${OUT:-build/monolith${2:+-$2}}
  for table in 1 2 3 4 5 6 7; do plot_table "$table"; done ;;
*)
  sed -n '2,10s/^# \{0,1\}//p' "$0"
  exit 2 ;;
esac

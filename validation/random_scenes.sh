#!/bin/sh
# Random scenes of rigid bodies with default settings: does any run end with a wrong result and without a report?
#   random_scenes.sh [-j JOBS] FOLDER N [SEED [FORMULATION...]]   scenes 1 to N for each formulation; default: all five
# JOBS (default 1) scenes run at a time, each on one thread. A repeated call continues: scenes with a row in FOLDER/rows are not run again.
# Scenes: random_scenes/scene.awk (boxes, balls, cylinders, capsules, dumbbells, tetrahedra, corners; under monolith also sand).
# Violations: random_scenes/check.awk. The table counts the scenes of each formulation:
#   pass       no violation, no report
#   reported   a violation, or a warning, or a failed step, that the program reports in its quality block, status and exit code
#   silent     a violation without a report. Exit status 1 if there is any
#   rejected   the job does not pass `check`. Exit status 1 if there is any
#   crashed    the program ends with a signal, after 300 s of CPU time, or with an exit code other than 0 and 4. Exit status 1 if there is any
#   failed     of the reported: exit code 4; residual, overlap, energy, few points: bad entries of the quality block
# FOLDER/counts.csv is the table. FOLDER/scenes.csv has one row per scene: number, formulation, result, exit code, violations, bad entries of the quality block (residual, overlap,
# energy, codes of warnings). FOLDER/times.csv has the CPU time of each.
set -u
here=$(cd "$(dirname "$0")" && pwd)/random_scenes

scene() { # NUMBER FORMULATION: its row
  job=$folder/$2-$1.yaml run=$folder/$2-$1
  awk -v number="$1" -v seed="$seed" -v mesh="$folder" -v formulation="$2" -f "$here/scene.awk" >"$job" || return 1
  rm -rf "$run"
  (ulimit -t 300; exec "$program" run "$job" --out "$run" --no-picture --threads 1 --quiet) >"$run.log" 2>&1
  code=$?
  status=$(sed -n 's/^status: *//p' "$run/result.yaml" 2>/dev/null)
  reports=$(awk '/^quality:/ { inside = 1 } /^[a-z]/ && !/^quality:/ { inside = 0 } !inside { next }
    /steps accepted/ { note("residual") } /bodies overlap by/ && !/\[/ { note("overlap") } /energy increased/ { note("energy") }
    match($0, /\[[a-z-]+\]"?$/) { code = substr($0, RSTART + 1, RLENGTH); sub(/\].*/, "", code); note(code) }
    function note(what) { if (!(what in found)) list = list (list ? " " : "") what; found[what] = 1 }
    END { print list }' "$run/result.yaml" 2>/dev/null)
  number=$1 formulation=$2
  set -- "$run/history.csv"
  for measure in "$run"/measure/*.csv; do set -- "$@" "name=$(basename "$measure" .csv)" "$measure"; done
  violations=$(awk -F, -v job="$job" -v tolerance=1e-3 -f "$here/check.awk" "$@")
  if [ $code -eq 2 ]; then
    result=rejected violations=$(sed -n '1s/^[^ ]* //p' "$run.log" | sed 's/"/""/g; s/.*/"&"/')
  elif [ $code -ne 0 ] && [ $code -ne 4 ]; then result=crashed
  elif [ $code -ne 0 ] || [ "$status" != '"finished"' ] && [ "$status" != finished ]; then result=reported
  elif [ -n "$violations" ]; then result=silent
  else result=pass
  fi
  printf '%s,%s,%s,%s,%s,%s\n' "$number" "$formulation" "$result" $code "$violations" "$reports"
  [ $result != pass ] || rm -rf "$run" "$run.log" "$job"
}

if [ "${1-}" = --scene ]; then # called below: FORMULATION NUMBER
  row=$folder/rows/$2-$3
  scene "$3" "$2" >"$row.new" && mv "$row.new" "$row"
  times >"$row.time.new"
  awk -v number="$3" -v formulation="$2" 'NR == 2 { split($0, t, /[ms ]+/); printf "%s,%s,%.2f\n", number, formulation, 60 * (t[1] + t[3]) + t[2] + t[4] }' "$row.time.new" >"$row.time"
  rm "$row.time.new"
  exit 0
fi

jobs=1
if [ "${1-}" = -j ]; then jobs=${2-}; shift 2; fi
[ $# -ge 2 ] || { sed -n '2,17s/^# *//p' "$0"; exit 2; }
folder=$1 n=$2 seed=${3:-1}
program=${PROGRAM:-build/release/stickslip}
[ $# -gt 3 ] && shift 3 || set -- penalty exact convex hybrid monolith
[ -x "$program" ] || { echo "$program: no such program; make all, or PROGRAM=..." >&2; exit 2; }
mkdir -p "$folder/rows" && folder=$(cd "$folder" && pwd) || exit 2
export folder seed program

# Surfaces of size 1 with the centre of mass at the origin: a regular tetrahedron, and a corner of three cubes of edge 1.
printf 'v %s\n' '0.942809042 0 -0.333333333' '-0.471404521 0.816496581 -0.333333333' '-0.471404521 -0.816496581 -0.333333333' '0 0 1' >"$folder/tetrahedron.obj"
printf 'f %s\n' '1 3 2' '1 2 4' '2 3 4' '3 1 4' >>"$folder/tetrahedron.obj"
awk 'BEGIN {
  n = split("0 0 2 0 2 1 1 1 1 2 0 2", c, " ") / 2
  for (z = -0.5; z <= 0.5; ++z) for (i = 1; i <= n; ++i) printf "v %.9g %.9g %.9g\n", c[2 * i - 1] - 5 / 6, c[2 * i] - 5 / 6, z
  for (i = 2; i < n; ++i) { print "f", 1, i + 1, i; print "f", n + 1, n + i, n + i + 1 }
  for (i = 1; i <= n; ++i) { j = i % n + 1; print "f", i, j, n + j; print "f", i, n + j, n + i }
}' >"$folder/corner.obj"

for number in $(seq "$n"); do
  for formulation; do [ -f "$folder/rows/$formulation-$number" ] || echo "$formulation $number"; done
done | xargs -r -L 1 -P "$jobs" sh "$0" --scene

{
  echo 'number,formulation,result,exit code,violations,quality'
  for formulation; do for number in $(seq "$n"); do cat "$folder/rows/$formulation-$number"; done; done
} >"$folder/scenes.csv"
for formulation; do for number in $(seq "$n"); do cat "$folder/rows/$formulation-$number.time"; done; done >"$folder/times.csv"
# Counts as a table with one row per formulation; `residual` to `few points` count reported scenes, which can have several of these entries.
awk -F, '
  FILENAME == ARGV[1] { cpu[$2] += $3; next }
  FNR == 1 { next }
  {
    if (!($2 in all)) order[++m] = $2
    ++all[$2]; ++count[$2, $3]
    if ($3 == "reported" && $4 == 4) ++count[$2, "failed"]
    if ($3 == "reported") for (i = 1; i <= 4; ++i) if (index($6, entry[i])) ++count[$2, entry[i]]
  }
  BEGIN { split("residual overlap energy few-contact-points", entry, " ") }
  END {
    print "formulation,scenes,pass,reported,failed,residual,overlap,energy,few points,silent,rejected,crashed,CPU time per scene [s]"
    n = split("pass reported failed residual overlap energy few-contact-points silent rejected crashed", column, " ")
    for (i = 1; i <= m; ++i) {
      printf "%s,%d", order[i], all[order[i]]
      for (k = 1; k <= n; ++k) printf ",%d", count[order[i], column[k]]
      printf ",%.2f\n", cpu[order[i]] / all[order[i]]
    }
  }' "$folder/times.csv" "$folder/scenes.csv" >"$folder/counts.csv"
awk -F, '
  { line = "|"; for (k = 1; k <= NF; ++k) line = line " " $k " |"; print line }
  NR == 1 { print "|---" bar(NF) }
  NR > 1 && $10 + $11 + $12 > 0 { bad = 1 }
  function bar(n,  k, text) { for (k = 1; k < n; ++k) text = text "|---"; return text "|" }
  END { exit bad }' "$folder/counts.csv"

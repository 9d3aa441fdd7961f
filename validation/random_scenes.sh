#!/bin/sh
# Random scenes of rigid bodies with default settings: does any run end with a wrong result and without a report?
#   random_scenes.sh FOLDER N [SEED [FORMULATION...]]   scenes 1 to N for each formulation; default: penalty exact convex hybrid
# Scenes: random_scenes/scene.awk (boxes, balls, cylinders, capsules, dumbbells, tetrahedra, corners). Violations: random_scenes/judge.awk.
# The table counts the scenes of each formulation:
#   pass       no violation
#   reported   a violation, or a failed step, that the program reports in its status and exit code
#   silent     a violation without a report. Exit status 1 if there is any
#   rejected   the job does not pass `check`
# FOLDER/scenes.csv has one row per scene: number, formulation, result, exit code, status, violations.
set -u
[ $# -ge 2 ] || { sed -n '2,9s/^# *//p' "$0"; exit 2; }
folder=$1 n=$2 seed=${3:-1}
here=$(cd "$(dirname "$0")" && pwd)/random_scenes
program=${PROGRAM:-build/release/stickslip}
[ $# -gt 3 ] && shift 3 || set -- penalty exact convex hybrid
[ -x "$program" ] || { echo "$program: no such program; make all, or PROGRAM=..." >&2; exit 2; }
mkdir -p "$folder" && folder=$(cd "$folder" && pwd) || exit 2

# Surfaces of size 1 with the centre of mass at the origin: a regular tetrahedron, and a corner of three cubes of edge 1.
printf 'v %s\n' '0.942809042 0 -0.333333333' '-0.471404521 0.816496581 -0.333333333' '-0.471404521 -0.816496581 -0.333333333' '0 0 1' >"$folder/tetrahedron.obj"
printf 'f %s\n' '1 3 2' '1 2 4' '2 3 4' '3 1 4' >>"$folder/tetrahedron.obj"
awk 'BEGIN {
  n = split("0 0 2 0 2 1 1 1 1 2 0 2", c, " ") / 2
  for (z = -0.5; z <= 0.5; ++z) for (i = 1; i <= n; ++i) printf "v %.9g %.9g %.9g\n", c[2 * i - 1] - 5 / 6, c[2 * i] - 5 / 6, z
  for (i = 2; i < n; ++i) { print "f", 1, i + 1, i; print "f", n + 1, n + i, n + i + 1 }
  for (i = 1; i <= n; ++i) { j = i % n + 1; print "f", i, j, n + j; print "f", i, n + j, n + i }
}' >"$folder/corner.obj"

scene() { # NUMBER FORMULATION: its row of scenes.csv
  job=$folder/$2-$1.yaml run=$folder/$2-$1
  awk -v number="$1" -v seed="$seed" -v mesh="$folder" -v formulation="$2" -f "$here/scene.awk" >"$job" || return 1
  rm -rf "$run"
  if ! said=$("$program" check "$job" 2>&1); then
    printf '%s,%s,rejected,,,"%s"\n' "$1" "$2" "$(printf '%s\n' "$said" | sed -n '1s/^[^ ]* //p' | sed 's/"/""/g')"
    return
  fi
  "$program" run "$job" --out "$run" --no-picture --threads 1 --quiet >"$run.log" 2>&1
  code=$?
  status=$(sed -n 's/^status: *//p' "$run/result.yaml" 2>/dev/null)
  set -- "$1" "$2" "$run/history.csv"
  number=$1 formulation=$2
  for measure in "$run"/measure/*.csv; do set -- "$@" "name=$(basename "$measure" .csv)" "$measure"; done
  shift 2
  mass=$("$program" check "$job" 2>/dev/null | awk '{ for (i = 2; i <= NF; ++i) if ($i == "kg" && $2 == "rigid") sum += $(i - 1) } END { printf "%.9g", sum }')
  violations=$(awk -F, -v job="$job" -v tolerance=1e-3 -v mass="$mass" -f "$here/judge.awk" "$@")
  if [ $code -ne 0 ] || [ "$status" != finished ]; then
    result=pass; [ $code -eq 0 ] && [ "$status" = finished ] && [ -z "$violations" ] || result=reported
  else
    result=pass; [ -z "$violations" ] || result=silent
  fi
  printf '%s,%s,%s,%s,"%s",%s\n' "$number" "$formulation" "$result" $code "$status" "$violations"
  [ $result = pass ] && rm -rf "$run" "$run.log" "$job"
}

echo 'number,formulation,result,exit code,status,violations' >"$folder/scenes.csv"
for formulation; do
  i=1
  while [ $i -le "$n" ]; do scene $i "$formulation"; i=$((i + 1)); done
done >>"$folder/scenes.csv"
awk -F, '
  NR == 1 { next }
  { if (!($2 in all)) order[++m] = $2; ++all[$2]; ++count[$2, $3]; if ($3 == "silent") bad = 1 }
  END {
    print "| formulation | scenes | pass | reported | silent | rejected |\n|---|---|---|---|---|---|"
    for (i = 1; i <= m; ++i) printf "| %s | %d | %d | %d | %d | %d |\n", order[i], all[order[i]], count[order[i], "pass"], count[order[i], "reported"], count[order[i], "silent"], count[order[i], "rejected"]
    exit bad
  }' "$folder/scenes.csv"

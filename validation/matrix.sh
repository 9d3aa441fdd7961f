#!/bin/sh
# The matrix of pairs of body kinds, for each formulation (make matrix):
#   matrix.sh run FOLDER [FORMULATION[:FALLS:ON]...]   runs these cells, all of them if none is named; prints them as rows of matrix.csv
#   matrix.sh table < matrix.csv                       the table of the README
#   matrix.sh readme FILE < matrix.csv                 writes it between its marks in FILE
# A cell holds (passes), is refused (rejected by `check` with the reason), or fails; see matrix/scene.awk and matrix/check.awk.
set -u
here=$(cd "$(dirname "$0")" && pwd)/matrix
program=${PROGRAM:-build/release/stickslip}
kinds="mpm mac fem cloth rod rigid articulated"
measures="p_x p_y p_z f_x f_y f_z h_x h_y h_z g_x g_y g_z s t mass all x y"
head='formulation,falls,on,result,what,momentum,cone,penetration [m],bound [m],steps with sliding,steps with sticking,sinks [m]'

cell() { # FOLDER FORMULATION FALLS ON: its row
  job=$1/$2_$3_$4.yaml run=$1/$2_$3_$4
  awk -v formulation="$2" -v falls="$3" -v on="$4" -v raft="$1/raft_$2.obj" -f "$here/scene.awk" >"$job" || return 1
  rm -rf "$run"
  if ! said=$("$program" check "$job" 2>&1); then
    printf '%s,%s,%s,refused,"%s",,,,,,,\n' "$2" "$3" "$4" "$(printf '%s\n' "$said" | sed -n '1s/^[^ ]* //p' | sed 's/"/""/g')"
    return
  fi
  if ! said=$("$program" run "$job" --out "$run" --no-picture --threads 1 2>&1); then
    printf '%s,%s,%s,fails,"%s",,,,,,,\n' "$2" "$3" "$4" "$(printf '%s\n' "$said" | tail -n 1 | sed 's/"/""/g')"
    return
  fi
  set -- "$@" "$run/history.csv"
  for name in $measures; do [ -e "$run/measure/$name.csv" ] && set -- "$@" "name=$name" "$run/measure/$name.csv"; done
  formulation=$2 falls=$3 on=$4
  shift 4
  case $falls-$on in mpm-mpm) on_grid=1 is_continuum= ;; *mac*) on_grid= is_continuum=1 ;; *) on_grid= is_continuum= ;; esac
  [ "$falls-$on" = mac-mac ] && on_grid=1
  printf '%s,%s,%s,%s\n' "$formulation" "$falls" "$on" "$(awk -F, -v formulation="$formulation" -v falls="$falls" -v on="$on" -v gap=0.002 -v on_grid=$on_grid -v is_continuum=$is_continuum \
    -v k=1e4 -v speed=0.4 -v drop=0.003 -v step=4e-3 -f "$here/check.awk" "$@")"
}

case ${1:-} in
run)
  folder=$2; shift 2
  [ -x "$program" ] || { echo "$program: no such program; make all, or PROGRAM=..." >&2; exit 1; }
  mkdir -p "$folder" && folder=$(cd "$folder" && pwd)
  [ $# -gt 0 ] || set -- penalty exact convex monolith hybrid
  echo "$head"
  for what; do
    case $what in
    *:*) cell "$folder" $(echo "$what" | tr : ' ') ;;
    *) for falls in $kinds; do for on in $kinds static; do cell "$folder" "$what" "$falls" "$on"; done; done ;;
    esac
  done ;;
table) awk -f "$here/table.awk" ;;
readme)
  awk -f "$here/table.awk" >"$2.table" || exit 1
  awk -v table="$2.table" '
    /^<!-- matrix:/ { print; print ""; while ((getline line < table) > 0) print line; print ""; skip = 1; next }
    /^<!-- end of matrix -->/ { skip = 0 }
    !skip' "$2" >"$2.new" && cat "$2.new" >"$2" && rm -f "$2.new" "$2.table" ;;
*) sed -n '2,6s/^# *//p' "$0"; exit 2 ;;
esac

#!/bin/bash
# 64 columns of sand (jobs/sweeps/columns.yaml), here and through a real SLURM of one node whose node dies half way, compared case by case and
# with the published runout: sweep_columns.sh [FOLDER]. Some ten minutes on two cores. Cases that FOLDER holds already are not run again.
#   PROGRAM=build/release/stickslip   JOBS=2: cases at a time   SLURM=no: only here
set -u
top=$(cd "$(dirname "$0")/.." && pwd)
program=$(realpath "${PROGRAM:-$top/build/release/stickslip}")
out=${1:-$top/build/validation/sweep-columns}
jobs=${JOBS:-2}
mkdir -p "$out" && cd "$out" || exit 3
export OMP_NUM_THREADS=1
fail() { echo "FAILED: $*"; failed=1; }
failed=0

# Columns of a results table by name, units left out: columns FILE NAME...
columns() {
  file=$1; shift
  awk -F , -v names="$*" 'NR == 1 { n = split(names, want, " "); for (i = 1; i <= NF; ++i) { name = $i; sub(/ \[.*/, "", name); at[name] = i } next }
    { line = ""; for (k = 1; k <= n; ++k) line = line (k > 1 ? " " : "") $at[want[k]]; print line }' "$file"
}
n_finished() { "$program" sweep status "$1" | awk '$1 == "finished" { print $2 }' | grep . || echo 0; }

echo "== local run, $jobs cases at a time"
"$program" sweep "$top/jobs/sweeps/columns.yaml" --out local --local -j "$jobs" > local.log 2>&1 || { tail -n 5 local.log; fail "the local run"; }
"$program" sweep gather local >> local.log 2>&1 || fail "gather local"
"$program" sweep status local

# --- through SLURM -----------------------------------------------------------------------------------------------------------
wait_for() { # NUMBER SECONDS: until so many cases are finished, or no job is left
  for _ in $(seq "$2"); do
    [ "$(n_finished slurm)" -ge "$1" ] && return 0
    [ -n "$(squeue -h -o %i)" ] || return 0
    sleep 1
  done
}
# What was running is queued again and waits two minutes; that is long for a test. slurmctld first forgets that it wanted to kill it.
start_requeued() {
  sleep 3
  squeue -h -r -t PENDING -o '%i %r' | awk '$2 == "BeginTime" { print $1 }' | while read -r task; do
    echo "task $task was requeued"
    scontrol update JobId="$task" StartTime=now+2
  done
}
through_slurm() {
  slurm=$(mktemp -d)
  bash "$top/config/slurm1.sh" up "$slurm" || return 1
  eval "$(bash "$top/config/slurm1.sh" env "$slurm")"
  trap 'bash "$top/config/slurm1.sh" down "$slurm"; rm -rf "$slurm"' EXIT
  rm -rf slurm
  "$program" sweep "$top/jobs/sweeps/columns.yaml" --out slurm --submit || { fail "submit"; return 0; }
  wait_for 32 1800
  echo "$(n_finished slurm) cases are finished; the node is stopped by force"
  bash "$top/config/slurm1.sh" kill-node "$slurm" || fail "the node cannot be stopped"
  "$program" sweep status slurm | tee status.txt
  grep -q '^ *stopped *[1-9]' status.txt || fail "no case was interrupted"
  bash "$top/config/slurm1.sh" up "$slurm" || { fail "slurmd does not restart"; return 0; }
  start_requeued
  wait_for 64 1800
  if [ "$(n_finished slurm)" -lt 64 ]; then
    "$program" sweep status slurm
    echo "the remaining cases are submitted again"
    "$program" sweep retry slurm --submit
    wait_for 64 1800
  fi
  "$program" sweep status slurm
  "$program" sweep gather slurm
}

# Every case once, with the results of the run that was never interrupted
compare() {
  [ "$(columns slurm/results.csv number status | sort -u | grep -c ' finished$')" = 64 ] || fail "results.csv does not contain 64 finished cases"
  [ "$(columns slurm/results.csv id | sort -u | wc -l)" = 64 ] || fail "results.csv does not contain 64 different cases"
  [ "$(find slurm/cases -mindepth 1 -maxdepth 1 | wc -l)" = 64 ] || fail "slurm/cases does not contain exactly 64 folders"
  same="number id status $(sed -n 1p local/results.csv | tr , '\n' | sed 's/ \[.*//' | sed -n '/^aspect$/,/^reason$/p' | tr '\n' ' ') step time retries newton linear contacts max_penetration"
  cmp <(columns local/results.csv $same) <(columns slurm/results.csv $same) || fail "the tables differ"
  n_same=0
  for n in $(columns local/results.csv number); do
    c=cases/$(printf %06d "$n")
    "$program" diff "local/$c" "slurm/$c" > diff.txt 2>&1 || { fail "case $n: checkpoints differ"; head -n 5 diff.txt; continue; }
    for m in front height; do cmp "local/$c/measure/$m.csv" "slurm/$c/measure/$m.csv" || { fail "case $n: measure $m differs"; continue 2; }; done
    n_same=$((n_same + 1))
  done
  echo "$n_same of 64 cases: last checkpoints and tables of measures are bit-identical"
  echo "cases that were resumed from a checkpoint (other interrupted cases had no checkpoint and started again): $(columns slurm/results.csv starts | awk '$1 > 1' | wc -l)"
}

if [ "${SLURM-}" = no ]; then echo "== SLURM: switched off by SLURM=no"
elif ! command -v slurmctld >/dev/null && ! [ -x /usr/sbin/slurmctld ]; then echo "== SLURM: skipped, slurmctld is not installed"
else
  echo "== SLURM, with a node that is stopped during the sweep"
  if through_slurm; then compare; else echo "SLURM does not start on this machine"; failed=1; fi
fi

# --- against experiments -----------------------------------------------------------------------------------------------------
# Lube et al. 2005: 1.2 a, then 1.9 a^(2/3); Lajeunesse et al. 2005: 1.8 a, then 2.3 a^(2/3). The band
# between them as in case B06, 15 % outside it; sand flows at 31 degrees.
echo "== runout"
columns local/results.csv aspect slope width front.last height.last | awk '{ printf "%s %s %.6g %.6g\n", $1, $2, ($4 - $3) / $3, $5 / $3 }' > runout.txt
awk '
  { a = $1; s = $2; r = $3; run[s, a] = r
    lo = a < 2.5 ? 1.2 * a : 1.9 * a ^ (2 / 3); hi = a < 2.5 ? 1.8 * a : 2.3 * a ^ (2 / 3)
    if (s == 31) { printf "a = %-4s runout %6.3f   published %.2f to %.2f   height %.3f   %s\n", a, r, lo, hi, $4, (r < 0.85 * lo || r > 1.15 * hi) ? "MISSED" : (r < lo || r > hi) ? "within 15 % of them" : "between them"
                   if (r < 0.85 * lo || r > 1.15 * hi) bad = 1 }
    k = a < 2.5 ? "low" : "high"; c = a < 2.5 ? 1 : 2 / 3
    n[s, k]++; x[s, k] += log(a); y[s, k] += log(r); xx[s, k] += log(a) ^ 2; xy[s, k] += log(a) * log(r); l[s, k] += log(r) - c * log(a) }
  END {
    for (s = 19; s <= 33; s += 2) {
      printf "slope %d:", s
      for (i = 1; i <= 2; ++i) { k = i == 1 ? "low" : "high"
        p = (n[s, k] * xy[s, k] - x[s, k] * y[s, k]) / (n[s, k] * xx[s, k] - x[s, k] ^ 2)
        printf "  %s exponent %.3f, coefficient %.2f%s", i == 1 ? "a <= 2:" : "a >= 3:", p, exp(l[s, k] / n[s, k]), i == 1 ? " a" : " a^(2/3)" }
      print "" }
    exit bad }' runout.txt || fail "the runout of sand differs from the published experiments"
if command -v gnuplot >/dev/null; then
  gnuplot -e "data='runout.txt'; picture='runout.png'" "$top/validation/sweep_columns.gp" && echo "$out/runout.png"
else
  echo "no plot: gnuplot is not installed"
fi
[ "$failed" = 0 ] && echo "passed"
exit "$failed"

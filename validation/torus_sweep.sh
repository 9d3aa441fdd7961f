#!/bin/sh
# torus_dr of [DingSchroeder2020], sec. 4, over the paper's range of friction (k 100) and of stiffness (mu 0.6), on one thread each.
#
#   sh validation/torus_sweep.sh [SECONDS]   runs all nine for so many simulated seconds (0.3: two rings have met) into build/torus_sweep, unless
#                                            they are there, and prints the Markdown table
cd "$(dirname "$0")/.." || exit 1
program=${PROGRAM:-build/release/stickslip} out=${OUT:-build/torus_sweep} seconds=${1:-0.3}
export OMP_NUM_THREADS=1
mkdir -p "$out"
echo "| mu | k | Newton a step, most | GMRES a step | evaluations a step | retries | contacts | penetration, mm | ended at start | longest chain | user s/frame |"
echo "|---|---|---|---|---|---|---|---|---|---|---|"
for pair in 0.1,1e2 0.2,1e2 0.5,1e2 0.6,1e2 1,1e2 10,1e2 0.6,10 0.6,1e3 0.6,1e4; do
  mu=${pair%,*} k=${pair#*,} run=$out/mu${pair%,*}_k${pair#*,}
  [ -f "$run/summary.txt" ] || "$program" run jobs/penalty/torus_dr.yaml --threads 1 --force --out "$run" --set "time.end=$seconds" \
    --set "contact.friction=$mu" --set "contact.stiffness=$k" >"$run.log" 2>&1
  awk -v mu="$mu" -v k="$k" '
    /^simulated/ { retries = $7 }
    /^user CPU time/ { user = $6 }
    /^Newton iterations/ { newton = $3 ", " $7 }
    /^GMRES/ { gmres = $3 }
    /^  evaluations/ { evaluations = $4 }
    /^contacts/ { contacts = $2 }
    /^  penetration/ { deepest = 1000 * $4 }
    /^relaxations/ { start = $3 " %"; longest = $11 + 0 }
    END { printf "| %s | %s | %s | %s | %s | %s | %s | %.3g | %s | %s | %s |\n", mu, k, newton, gmres, evaluations, retries, contacts, deepest, start, longest, user }
  ' "$run/summary.txt"
done

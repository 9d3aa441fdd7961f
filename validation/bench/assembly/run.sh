# run.sh [FOLDER]: the convergence study of [BertailsDescoubes2011]: how solvers of exact friction fare with nu = 3 n_c / n_dof on random
# assemblies of fibres that a lid presses together, for every model of rods. Writes to FOLDER (build/bench/assembly): the problems (FCLIB),
# a table and, with gnuplot, a plot. LIMIT: seconds a solve may take (20); STEPS: of each simulation (400); KEEP=1: solve the problems that are there.
set -eu
here=validation/bench/assembly
out=${1:-$B/bench/assembly}
program=$B/stickslip
export OMP_NUM_THREADS=1
[ "${KEEP:-0}" = 1 ] || rm -rf "$out"
mkdir -p "$out"
echo "model,problem,contacts,dof,nu,solver,solved,iterations,seconds,error" >"$out/table.csv"
for model in mass_spring discrete_elastic_rod corde super_helix; do
  set -- --set bodies.a.model=$model --set bodies.b.model=$model --set bodies.c.model=$model --set bodies.d.model=$model --set bodies.e.model=$model
  # A pile that is pressed beyond what it can take ends its run; the problems up to there are what we came for.
  [ -d "$out/$model/fclib" ] || "$program" run $here/assembly.yaml --out "$out/$model" --quiet --no-picture --steps "${STEPS:-400}" "$@" || echo "$model: ended early, see $out/$model"
  for solver in newton newton_prox splitting interior_point automatic; do
    "$program" friction "$out/$model"/fclib/*.hdf5 --solver $solver --time-limit "${LIMIT:-20}" --repeat 2 --quiet --force --table "$out/one.csv" >/dev/null 2>&1 || true
    awk -F, -v m=$model 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next } { gsub(/"[^"]*"/, "several") }
      { print m "," $at["problem"] "," $at["contacts"] "," $at["dof"] "," $at["nu"] "," $at["solver"] "," $at["solved"] "," $at["iterations"] "," $at["cpu [s]"] "," $at["error_scaled"] }' "$out/one.csv" >>"$out/table.csv"
  done
done
rm -f "$out/one.csv"
echo "solved, of all, by range of nu (median seconds of those solved):"
sort -t, -k1,1 -k6,6 -k9,9g "$out/table.csv" | awk -F, '$1 != "model" && $3 > 0 {
    b = $5 < .25 ? 0 : $5 < .5 ? 1 : $5 < 1 ? 2 : 3; k = sprintf("%-21s %-15s", $1, $6); all[k, b]++; if ($7) { ok[k, b]++; t[k, b, ok[k, b]] = $9 }; if (!(k in seen)) { seen[k]; order[++n] = k } }
  END { printf "%-38s %16s %16s %16s %16s\n", "", "nu < .25", ".25 - .5", ".5 - 1", "> 1"
    for (i = 1; i <= n; i++) { printf "%-38s", order[i]; for (b = 0; b < 4; b++) { k = order[i]; m = int((ok[k, b] + 1) / 2)
      printf " %16s", all[k, b] ? sprintf("%d/%d %s", ok[k, b], all[k, b], m ? sprintf("(%.1f ms)", 1e3 * t[k, b, m]) : "") : "-" } print "" } }'
if command -v gnuplot >/dev/null; then gnuplot -e "data='$out/table.csv'; picture='$out/assembly'" $here/plot.gp && echo "$out/assembly.png"
else echo "no plot: gnuplot is not installed"; fi

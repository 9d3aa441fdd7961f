# Pairs of body kinds (validation/matrix.sh): selected cells are run again and must equal validation/matrix.csv. The table of the README
# must follow from that file.
. tests/integration/common.sh
matrix=validation/matrix.csv
export PROGRAM="$program"
sh validation/matrix.sh table <$matrix >"$work/table"
sed -n '/^<!-- matrix:/,/^<!-- end of matrix -->/p' README.md | sed '1d;$d' | sed '1{/^$/d;}' | sed '${/^$/d;}' >"$work/shown"
cmp -s "$work/table" "$work/shown" || { diff "$work/table" "$work/shown"; fail "the README's table is not that of $matrix: make matrix"; }
pass "the README's table is that of $matrix"
[ "$(grep -c . $matrix)" = 281 ] || fail "$matrix has $(grep -c . $matrix) rows, not 5 formulations x 7 kinds x 8 kinds and a head"
cells="penalty:mpm:rigid penalty:fem:static penalty:rigid:cloth penalty:rod:fem
 exact:mpm:static exact:fem:rigid exact:cloth:articulated exact:rod:rod exact:rigid:rod exact:articulated:static
 convex:mpm:cloth convex:fem:static convex:cloth:rigid convex:rod:articulated convex:rigid:fem convex:articulated:rod
 monolith:rigid:rigid monolith:rigid:static hybrid:mpm:cloth hybrid:fem:rigid hybrid:cloth:fem hybrid:rigid:static
 penalty:mpm:rod penalty:rod:rod penalty:articulated:static exact:mac:rigid convex:rod:mpm convex:mpm:rod exact:mpm:rod monolith:fem:rigid hybrid:rod:fem"
sh validation/matrix.sh run "$work/cells" $cells >"$work/rows" || fail "the cells could not be run"
for cell in $cells; do
  row=$(echo "$cell" | tr : ,)
  was=$(grep "^$row," $matrix | cut -d, -f1-4) now=$(grep "^$row," "$work/rows" | cut -d, -f1-4)
  [ -n "$now" ] && [ "$was" = "$now" ] || { grep "^$row," $matrix "$work/rows"; fail "$cell came out otherwise than $matrix says: make matrix"; }
  pass "$now"
done
for row in $(grep -n ',refused,' $matrix | cut -d: -f1); do
  sed -n "${row}p" $matrix | grep -qE ',refused,"?[a-z].*: .{20,}' || fail "line $row of $matrix: refused without a reason"
done
pass "rejected pairs state the reason"
grep '^penalty,rod,rod,' "$work/rows" | grep -q "use formulation: exact or convex, or set contact: false" || fail "rods on rods under penalty: not what to do"
sed 's/between: \[x, y\], friction: 0.5/between: [x, y], contact: false/' "$work/cells/penalty_rod_rod.yaml" >"$work/apart.yaml"
grep -q 'x, y\], contact: false' "$work/apart.yaml" && status 0 "$program" check "$work/apart.yaml" && pass "the remedy in the message works"
# The check detects modified records.
check_run() { # FORMULATION RUN
  awk -F, -v formulation="$1" -v k=1e4 -v speed=0.4 -v drop=0.003 -v step=4e-3 -v gap=0.002 -v falls=rigid -v on=rod -f validation/matrix/check.awk "$2/history.csv" \
    $(for m in "$2"/measure/*.csv; do echo "name=$(basename "$m" .csv) $m"; done) >"$work/out"
}
tampered() { # COLUMN VALUE TEXT: in the 30th row of the history
  rm -rf "$work/bad"; cp -r "$work/cells/exact_rigid_rod" "$work/bad"
  awk -F, -v OFS=, -v name="$1" -v value="$2" 'NR == 1 { for (i = 1; i <= NF; ++i) { split($i, word, " "); if (word[1] == name) k = i } } NR == 30 { $k = value } 1' \
    "$work/cells/exact_rigid_rod/history.csv" >"$work/bad/history.csv"
  check_run exact "$work/bad"; says "fails"; says "$3"
}
check_run exact "$work/cells/exact_rigid_rod"; says "holds"
tampered momentum_y 1e-3 "momentum is off"
tampered cone_violation 1e-6 "friction leaves its cone"
tampered penetration 2.5e-3 "bodies overlap"
tampered retries 1 "steps are halved"
# The upper body passes through the lower one, according to its table of positions.
rm -rf "$work/bad"; cp -r "$work/cells/exact_rigid_rod" "$work/bad"
awk -F, -v OFS=, 'NR > 1 { $3 -= 0.5 * 9.81 * $2 * $2 } 1' "$work/cells/exact_rigid_rod/measure/x.csv" >"$work/bad/measure/x.csv"
check_run exact "$work/bad"; says "fails"; says "what falls sinks by"
pass "check.awk detects modified results"
# The record of contacts is independent of the history: every force of every step is inside its cone, and the sums equal the measures.
if command -v h5dump >/dev/null; then
  numbers() { h5dump -y -w 0 -m %.17g -d "/fields/contact/points/$1" "$2" | sed -n '/ DATA {/,/}/{p;/}/q}' | grep -v '[{}]' | tr ',' '\n' | tr -d ' ' | grep . ; }
  for cell in penalty_rigid_cloth exact_fem_rigid convex_cloth_rigid; do
    status 0 "$program" run "$work/cells/$cell.yaml" --out "$work/frames" --force --no-picture --threads 1 --set time.frame=4e-3 --set output.precision=double
    n=0
    for frame in "$work"/frames/frames/frame_*.h5; do
      n=$((n + 1))
      numbers source "$frame" >"$work/source" 2>/dev/null && [ -s "$work/source" ] || continue
      numbers object "$frame" >"$work/object"
      numbers force "$frame" | paste -d, - - - >"$work/force"
      numbers normal "$frame" | paste -d, - - - | paste -d, "$work/source" "$work/object" "$work/force" - | sed "s/^/$n,/"
    done >"$work/contacts"
    awk -F, 'FNR == 1 { ++file } file < 4 { if (FNR > 1) told[$1 + 1, file] = $3; next }
      { f = $4 * $7 + $5 * $8 + $6 * $9; t = sqrt(($4 - f * $7) ^ 2 + ($5 - f * $8) ^ 2 + ($6 - f * $9) ^ 2); n++
        if (f > most) most = f
        if (t - 0.5 * f > excess) excess = t - 0.5 * f
        sign = $2 == 2 ? 1 : $3 == 2 ? -1 : 0 # floor, y, x
        for (k = 1; k <= 3; ++k) sum[$1, k] += sign * $(3 + k)
        steps[$1] = 1 }
      END { for (s in steps) for (k = 1; k <= 3; ++k) { e = sum[s, k] - told[s, k]; if (e * e > worst) worst = e * e }
        printf "%d contacts, %.1e beyond the cone, %.1e beside what is told, of %g N\n", n, excess, sqrt(worst), most
        exit !(n > 100 && most > 0.1 && excess < 1e-10 * most && sqrt(worst) < 1e-10 * most) }' \
      "$work/frames/measure/f_x.csv" "$work/frames/measure/f_y.csv" "$work/frames/measure/f_z.csv" "$work/contacts" >"$work/out" || { cat "$work/out"; fail "$cell: a contact in the record leaves its cone, or is not told"; }
    pass "$cell, from its record: $(cat "$work/out")"
  done
fi

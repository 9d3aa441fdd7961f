# The report of a run: complete, texts escaped, well-formed, and omitted if not requested.
. tests/integration/common.sh
command -v gnuplot >/dev/null || { echo "no gnuplot: sh config/setup.sh report"; exit 77; }
job=$here/small.yaml
export OMP_NUM_THREADS=2
cd "$work" || exit 1

# A job with texts that look like markup.
sed -e 's|^name: small|name: "small"\ndescription: "<script>alert(1)</script> \&amp; <img src=x onerror=alert(2)>"|' "$job" >nasty.yaml
status 0 "$program" run nasty.yaml --out nasty && says "report.html" && pass "a run writes its report"
page=nasty/report.html
[ -s $page ] || fail "no report"
[ "$(wc -c <$page)" -lt 2000000 ] || fail "the page has more than 2 MB"
if grep -qE '<script|<img src=x' $page; then fail "a text of the job became markup"; fi
grep -qF '&lt;script&gt;alert(1)' $page || fail "a text of the job is missing"
pass "texts of the job are escaped"
if grep -oE '(src|href|url)[=(]["'"'"']?[^"'"'"' >)]*' $page | grep -v 'data:' | grep -qE '//'; then fail "the page refers to the network"; fi
pass "the page has no external references"
[ "$(grep -o '<svg' $page | wc -l)" -ge 9 ] || fail "fewer than nine diagrams"
[ "$(grep -o 'data:image/png' $page | wc -l)" = 3 ] || fail "not three pictures"
n=$(grep -oE "\bid=[\"'][^\"']*" $page | sort | uniq -d | wc -l)
[ "$n" = 0 ] || fail "$n ids are duplicated"
for text in 'tangent product' 'GFLOP/s' 'finished' 'end of time' 'friction_angle_deg: 30' 'PETSc 3' 'Penalty Force for Coupling'; do
  grep -qF "$text" $page || fail "the page does not contain: $text"
done
pass "diagrams, pictures, times, job, versions and references are present"
newton=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "newton_iterations") k = i; next } { n += $k } END { print n }' nasty/history.csv)
grep -F '<td>newton_iterations</td>' $page | grep -F "sum $newton<" | grep -qF 'outer iterations' || fail "the table of columns has no newton_iterations with the sum $newton"
[ "$(grep -c '^<tr><td>[a-z_]*</td><td>' $page)" -ge "$(head -n 1 nasty/history.csv | tr , '\n' | wc -l)" ] || fail "a column is missing in the table"
pass "the table lists all columns of history.csv"
# Fallbacks are warnings with their number and cause.
cp -r nasty fallbacks
awk -F, -v OFS=, 'NR == 1 { for (i = 1; i <= NF; ++i) if ($i == "gradient_directions") k = i } NR == 3 || NR == 5 { $k = 4 } 1' nasty/history.csv >fallbacks/history.csv
status 0 "$program" report fallbacks
grep -qF '<li>8 Newton iterations that used the negative gradient as search direction</li>' fallbacks/report.html || fail "no warning of fallbacks"
if grep -qF 'used the negative gradient as search direction</li>' $page; then fail "a warning without fallbacks"; fi
pass "fallbacks are warnings with number and cause"
if command -v xmllint >/dev/null; then xmllint --noout $page 2>out || { cat out; fail "the page is not well-formed"; }; pass "the page is well-formed"; fi

# The times in stages.csv add up to the time of the run, also after a resume.
cat nasty/stages.csv >before.csv
status 0 "$program" resume nasty --set time.end=0.08 --no-report
awk -F, 'NR == FNR {s[$1] = $2; c[$1] = $3; next} FNR > 1 && ($2 < s[$1] || $3 < c[$1]) {bad = 1} END {exit bad}' before.csv nasty/stages.csv ||
  fail "a resume loses the earlier times"
awk -F, '$1 == "particle sort" && $3 != 40 {exit 1}' nasty/stages.csv || fail "40 steps are not 40 sorts"
[ $page -nt nasty/stages.csv ] && fail "--no-report wrote a report"
pass "times are summed over all starts"

# Damaged files are reported; the other data are shown.
newest=$(ls nasty/checkpoints/*.h5 | tail -n 1)
printf 'xxxx' | dd of="$newest" bs=1 seek=3000 conv=notrunc 2>/dev/null
head -c 30000 nasty/history.csv >cut && printf '1,2,three\n4' >>cut && mv cut nasty/history.csv
printf 'no' >nasty/frames/frame_000000.h5
status 0 "$program" report nasty --out elsewhere.html
grep -qF "$(basename "$newest")" elsewhere.html && grep -qF 'not a row of' elsewhere.html && grep -qF 'No pictures' elsewhere.html || fail "damage is not reported"
grep -q "href=\"/.*/nasty/history.csv\"" elsewhere.html || fail "a page in another folder does not link to the run"
pass "damage is reported, the rest is shown"

status 2 "$program" report "$work" && says "job.yaml is missing" && pass "report without a run"
mkdir bare && ln -s "$program" bare/stickslip
status 3 env PATH="$work/bare" "$program" report nasty --out none.html && says "gnuplot-nox" && [ ! -e none.html ] || fail "without gnuplot"
status 0 env PATH="$work/bare" "$program" run "$job" --out plain --steps 2 && says "no report, because gnuplot is not installed" && [ ! -e plain/report.html ] || fail "a run without gnuplot"
pass "without gnuplot: report names the package, run works without it"
status 0 "$program" run "$job" --out quiet --steps 2 --no-picture && [ ! -e quiet/report.html ] || fail "--no-picture wrote a report"
status 4 "$program" run "$job" --out hopeless --set time.retry.halvings=0 --set solver.newton.max_iterations=1 && grep -q 'class="status failed"' hopeless/report.html && grep -q 'The run failed' hopeless/report.html || fail "report of a failed run"
pass "a failed run writes a report with the failure"

# A long history gives a short page that still shows spikes.
awk 'BEGIN {OFS = ","} NR == 1 {print; next} {row = $0; exit} END {}' FS=, quiet/history.csv >long.csv
sed -n 2p quiet/history.csv >row
awk -F, 'BEGIN {OFS = ","; "head -n 1 long.csv" | getline line; n = split(line, v, ","); for (k = 1; k <= n; ++k) if (v[k] ~ /^sliding/) column = k
  "cat row" | getline line; n = split(line, v, ",");
  for (i = 1; i <= 200000; ++i) {v[1] = i; v[2] = i * 1e-3; v[column] = i == 123457 ? 7777 : i % 50; s = v[1]; for (k = 2; k <= n; ++k) s = s "," v[k]; print s}}' </dev/null >>long.csv
cp long.csv quiet/history.csv
status 0 "$program" report quiet && [ "$(wc -c <quiet/report.html)" -lt 1500000 ] || fail "the page of a long history"
grep -qE '> *8000<' quiet/report.html || fail "one spike among 200000 steps is not on the plot"
pass "200000 steps make a page below 1.5 MB, with the spike"

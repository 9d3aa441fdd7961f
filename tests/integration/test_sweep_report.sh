# The page of a sweep: all cases, lines and coloured tables for products, points for samples, failed cases marked, texts escaped.
. tests/integration/common.sh
command -v gnuplot >/dev/null || { echo "no gnuplot: sh config/setup.sh report"; exit 77; }
export OMP_NUM_THREADS=1
cd "$work" || exit 1
cat >block.yaml <<'EOF'
stickslip: 1
name: block
gravity: [0, 0, -9.81]
time: {end: 0.02, step: 1.0e-3, retry: {halvings: 0}}
materials: {steel: {model: rigid, density: 1000}}
bodies:
  block: {kind: rigid, material: steel, shape: {box: {min: [-0.05, -0.05, 0.0], max: [0.05, 0.05, 0.1]}}}
  floor: {kind: static, shape: {plane: {normal: [0, 0, 1], offset: 0}}}
contact: {friction: 0.3, stiffness: 1.0e5}
measure:
  slide: {quantity: position, body: block, direction: [1, 0, 0]}
EOF
cat >product.yaml <<'EOF'
sweep: 1
name: product
base: block.yaml
vary:
  mu: [0.1, 0.3, 0.5]
  push: [1, 4]
set: {contact.friction: mu, "gravity[0]": push}
EOF
status 0 "$program" sweep product.yaml --local -j 2 --out product
status 0 "$program" sweep report product && page=product/report.html
[ "$(grep -o '<tr><td class="n">' $page | wc -l)" = 6 ] || fail "not every case is in the table"
grep -q '6 finished' $page && grep -q 'slide against mu' $page && grep -q 'slide against push' $page || fail "counts or diagrams are missing"
[ "$(grep -o 'style="background:rgb' $page | wc -l)" = 6 ] || fail "the table of two parameters has not six cells"
# the value in the page is the one in the results
want=$(awk -F, 'NR == 1 {for (i = 1; i <= NF; ++i) if ($i ~ /^slide.last/) k = i} NR == 2 {printf "%.4g", $k}' product/results.csv)
grep -qF ">$want</td>" $page || fail "slide of case 1, $want, is not in the table"
if command -v xmllint >/dev/null; then xmllint --noout $page 2>out || { cat out; fail "the page is not well-formed"; }; fi
pass "product of two parameters: lines, coloured table, all cases with their values"

status 0 "$program" sweep report product --cases && [ -s product/cases/000006/report.html ] && grep -q 'href="cases/000006/report.html"' $page || fail "no reports of cases"
status 0 "$program" sweep report product --out there.html && grep -q "href=\"/.*/product/cases/000006/report.html\"" there.html || fail "links from elsewhere"
pass "links refer to the reports of cases"

cat >mixed.yaml <<'EOF'
sweep: 1
name: mixed
base: block.yaml
vary:
  iterations: [100, 1]
  what: ["plain", "<script>alert(1)</script>"]
  cloud: {latin_hypercube: {count: 3, seed: 7, of: {mu: [0.1, 0.6], push: [1, 5]}}}
set: {contact.friction: mu, "gravity[0]": push, solver.newton.max_iterations: iterations, description: what}
EOF
"$program" sweep mixed.yaml --local -j 2 --out mixed >out 2>&1
status 0 "$program" sweep report mixed && page=mixed/report.html
grep -q '6 finished' $page && grep -q '6 failed' $page && grep -q '6 cases failed' $page && grep -q 'did not converge' $page || fail "failed cases are not listed"
grep -q 'color=.var(--c9)' $page || fail "failed cases are not marked in a diagram"
grep -q '<script>alert' $page && fail "a parameter became markup"
grep -qF '&lt;script&gt;alert(1)&lt;/script&gt;' $page || fail "a parameter is missing in the table"
grep -q 'class="heat"' $page && fail "samples have no table of two parameters"
pass "samples, failures and parameters with special characters"

status 3 "$program" sweep report "$work" && says "not a sweep folder" && pass "report without a sweep"
mkdir -p empty && "$program" sweep product.yaml --out empty/s >out 2>&1
status 0 "$program" sweep report empty/s && grep -q '6 waiting' empty/s/report.html || fail "report of a sweep that has not started"
pass "report of a sweep that has not started"

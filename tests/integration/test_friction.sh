# `stickslip friction`: FCLIB problems with known solutions, and errors of invalid files. STICKSLIP_FCLIB=FOLDER: also a collection of problems.
. tests/integration/common.sh
make=$(pwd)/${B:-build/release}/unit/write_fclib
[ -x "$make" ] || { echo "write_fclib is not built (make ${B:-build/release}/unit/write_fclib)"; exit 77; }
cd "$work" || exit 1
export OMP_NUM_THREADS=1
for kind in points-sticks points-slides points-slides-local points-guided points-guided-local sticks slides slides-smooth thrown slides-local slides-local-unsymmetric slides-plane slides-plane-local negative nan sizes nothing rolling indefinite massless; do
  "$make" $kind $kind.hdf5 || fail "cannot write $kind.hdf5"
done
f() { "$program" friction "$@"; }

status 0 f slides.hdf5 --force --contacts c.csv && says "global problem, 4 contacts, 6 degrees of freedom, nu = 2.00" && says "rank of W: 6 of 12" && says "solved" && says "error: scaled" && says "siconos"
# down the slope at h g (sin - mu cos), each corner sliding, the four together carrying the weight
awk -F, 'NR > 1 { if ($2 != "slide" || ($8 - 0.02 * 9.81 * (sin(0.6) - 0.5 * cos(0.6)))^2 > 1e-14) exit 1; n += $4 }
         END { exit (NR != 5 || (n - 2 * 0.02 * 9.81 * cos(0.6))^2 > 1e-14) }' c.csv || { cat c.csv; fail "wrong sliding velocity of the block"; }
status 0 f sticks.hdf5 --force --contacts c.csv
awk -F, 'NR > 1 && ($2 != "stick" || $8^2 > 1e-14) { exit 1 }' c.csv || { cat c.csv; fail "the block does not stick"; }
status 0 f slides-smooth.hdf5 --force --contacts c.csv
awk -F, 'NR > 1 && (($8 - 0.02 * 9.81 * sin(0.6))^2 > 1e-14 || $5 != 0) { exit 1 }' c.csv || { cat c.csv; fail "without friction"; }
status 0 f thrown.hdf5 --force --contacts c.csv
awk -F, 'NR > 1 && ($2 != "take-off" || $4 != 0 || $7 <= 0) { exit 1 }' c.csv || { cat c.csv; fail "no separation"; }
for k in points-guided points-guided-local; do # W_aa of the first contact has rank 1: its body moves along the normal alone, and its support slides past
  status 0 f $k.hdf5 --force --contacts c.csv
  awk -F, 'NR == 2 && ($2 != "slide" || ($4 - 2 * 0.02 * 9.81)^2 > 1e-14 || ($5 + 0.02 * 9.81)^2 > 1e-14 || ($8 - 0.3)^2 > 1e-14) { exit 1 }' c.csv || { cat c.csv; fail $k; }
done
pass "a block on a slope: sticks, slides, slides without friction, takes off; impulses and velocities are those of the formula"

# With redundant contacts (4 corners, 6 degrees of freedom) the Newton method of the first paper may fail and first-order methods may be slow;
# then they must report it.
regular="points-sticks.hdf5 points-slides.hdf5 points-slides-local.hdf5 points-guided.hdf5 points-guided-local.hdf5 thrown.hdf5"
redundant="sticks.hdf5 slides.hdf5 slides-local.hdf5 slides-local-unsymmetric.hdf5 slides-plane.hdf5 slides-plane-local.hdf5 slides-smooth.hdf5"
for s in $("$program" friction --help | sed -n 's/^  --solver \([^ ]*\).*/\1/p' | tr '|' ' '); do
  status 0 f $regular --solver $s --error siconos --tol 1e-6
  case $s in
  newton | admm | gradient) f $redundant --solver $s --error siconos --tol 1e-6 >out 2>&1; case $? in 0 | 6) ;; *) cat out; fail "$s" ;; esac ;;
  *) status 0 f $redundant --solver $s --error siconos --tol 1e-6 ;;
  esac
  [ "$(grep -cE '^(sticks|slides)' out)" = 7 ] || { cat out; fail "$s: not all solvers were tried"; }
  status 0 f points-slides.hdf5 --solver $s --tol 1e-9 --force --contacts c.csv
  awk -F, 'NR > 1 && ($2 != "slide" || ($8 - 0.02 * 9.81 * (sin(0.6) - 0.5 * cos(0.6)))^2 > 1e-14) { exit 1 }' c.csv || { cat c.csv; fail "$s: different speed"; }
done
pass "every solver: global and local, in space and in the plane, W symmetric or not, mu = 0"

f slides.hdf5 slides-local.hdf5 sticks.hdf5 --all --table t.csv >out 2>&1; got=$?
says "| slides-local | 4 | 2.00 |" && says "solved |" && says "3 of 3"
awk -F, 'NR > 1 { gsub(/"[^"]*"/, ""); if ($7 != 1) bad = 1 } END { exit bad }' t.csv && want=0 || want=6
[ $got = $want ] || { cat t.csv; fail "--all: exit code $got although the table contains failures: $want"; }
status 6 f sticks.hdf5 slides.hdf5 --all --tol 1e-300 --max-iterations 1
status 0 f points-slides.hdf5 --all --tol 1e-4
[ "$(wc -l < t.csv)" -ge 4 ] && head -n 1 t.csv | grep -q '^problem,contacts,dof,nu,solver,' || { cat t.csv; fail "--table"; }
if command -v gnuplot >/dev/null; then
  status 0 f points-slides.hdf5 points-sticks.hdf5 --all --tol 1e-4 --plot p.svg && grep -q 'share of problems solved' p.svg && grep -q '>splitting</text>' p.svg || fail "--plot"
  grep -q 'var(' p.svg && fail "the plot requires a style sheet"
  pass "--all: table, CSV, performance profile"
else
  pass "--all: table, CSV"
fi
status 0 env PATH=/nonexistent "$program" friction points-slides.hdf5 --all --tol 1e-4 && status 2 env PATH=/nonexistent "$program" friction slides.hdf5 --all --plot q.svg && says "gnuplot" && pass "without gnuplot: tables, and an error message for plots"

cp slides.hdf5 before.hdf5
status 0 f slides.hdf5 --output out.hdf5
status 2 f slides.hdf5 --output out.hdf5 && says "already exists"
status 2 f slides.hdf5 --output ./slides.hdf5 && says "is an input file"
status 2 f slides.hdf5 --force && says "--force requires --output"
for o in --contacts --table; do
  echo precious >kept.csv
  status 2 f slides.hdf5 $o kept.csv && says "kept.csv already exists" && says "add --force"
  [ "$(cat kept.csv)" = precious ] || fail "$o overwrote a file"
  status 0 f slides.hdf5 $o kept.csv --force && [ "$(wc -l <kept.csv)" -gt 1 ] || fail "$o --force did not replace the file"
done
for o in --contacts --table; do ln slides.hdf5 link.csv; status 2 f slides.hdf5 $o link.csv && says "is an input file"; rm link.csv; done
cmp -s slides.hdf5 before.hdf5 || fail "the input has changed"
status 0 f out.hdf5 --from-guess 0 && says "the file also contains a solution" && says ", 0 iterations"
status 0 f out.hdf5 --output out.hdf5 --force --from-guess 0 && status 0 f out.hdf5 --from-guess 1
status 3 f slides.hdf5 --output nowhere/out.hdf5 && says "cannot write nowhere"
ls .*.tmp >/dev/null 2>&1 && fail "a temporary file remains"
OMP_NUM_THREADS=2 f slides.hdf5 --output two.hdf5 >/dev/null && f slides.hdf5 --output one.hdf5 >/dev/null && cmp one.hdf5 two.hdf5 || fail "two threads are not bit-identical"
pass "solutions as FCLIB files: read again, replacing files only with --force, bit-identical on two threads"

status 6 f slides.hdf5 --tol 1e-300 --max-iterations 1 --output rough.hdf5 && says "too many iterations" && says "not solved to the tolerance"
status 0 f rough.hdf5 --from-guess 1
status 2 f rough.hdf5 --from-guess 0 && says "has no solution to start from"
status 2 f rough.hdf5 --from-guess 2 && says "has no guess 2; there are 1"
pass "unsolved problems: exit code 6, written as a guess"

bad() { status "$1" f "$2.hdf5"; says "$2.hdf5"; says "$3"; }
bad 2 negative "mu[1] is -0.5; expected a coefficient of friction >= 0"
bad 2 nan "mu[1] is nan"
bad 2 sizes "mu has 2 entries; expected 4"
bad 2 nothing "contact 3 acts on no degree of freedom"
bad 2 rolling "rolling friction"
bad 2 indefinite "not positive definite"
bad 2 massless "not positive definite"
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 5\n' > lfs.hdf5; bad 2 lfs "Git LFS"
head -c 3000 slides.hdf5 > cut.hdf5; bad 3 cut "HDF5"
echo hello > text.hdf5; bad 2 text "not an HDF5 file"
: > empty.hdf5; bad 2 empty "is empty"
mkdir folder.hdf5; bad 2 folder "is a folder"
mkfifo pipe.hdf5; bad 2 pipe "not a regular file"
status 2 f /dev/zero && says "not a regular file"
bad 2 missing "there is no such file"
status 2 f missing.hdf5 slides.hdf5 && says "slides "
status 2 f sticks.hdf5 nan.hdf5 slides.hdf5 && says "sticks " && says "slides " && says "nan.hdf5" && pass "bad files are reported by name; the other files are solved"

status 2 f slides.hdf5 --solver spliting && says 'did you mean "splitting"'
status 2 f slides.hdf5 --tol -1 && says "--tol"
status 2 f slides.hdf5 --tol soon && says "--tol"
status 2 f slides.hdf5 --error big && says "--error"
status 2 f slides.hdf5 --time-limit -1 && says "--time-limit"
status 2 f slides.hdf5 --set nonsense=1 && says "nonsense"
status 2 f slides.hdf5 --set expert.merit=1 && says "expert.merit: has no effect when method is automatic"
status 2 f slides.hdf5 --solver newton --set expert.local_solver=exact && says "expert.local_solver: has no effect when method is newton"
status 2 f slides.hdf5 --plot p.svg && says "--plot requires --all"
status 2 f slides.hdf5 sticks.hdf5 --output x.hdf5 && says "--output requires one FILE"
status 2 f slides.hdf5 --all --solver splitting && says "give one of them"
status 2 f slides.hdf5 --from-guess x && says "whole number"
status 2 f && says usage
pass "options"

# The names of all methods that ran, and a time limit in place of the limit on iterations.
f slides.hdf5 --tol 1e-300 --time-limit 2 --table long.csv >out 2>&1; [ $? = 6 ] || { cat out; fail "an impossible tolerance"; }
grep -q '"gradient, newton_prox, interior_point, newton_prox, splitting"' long.csv || { cat long.csv; fail "names of methods are cut off"; }
for s in splitting gradient; do
  status 6 f slides.hdf5 --solver $s --tol 1e-300 --time-limit 1.5
  says "out of time"
done
pass "--time-limit replaces the default limit on iterations"

if [ -n "${STICKSLIP_FCLIB:-}" ]; then
  "$program" friction "$STICKSLIP_FCLIB"/*.hdf5 --time-limit 20 >out 2>&1
  cat out
fi

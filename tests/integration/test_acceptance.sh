# validation/acceptance.sh: rows of a new table replace those of the same cases; all other rows stay; cases without folder are dropped.
. tests/integration/common.sh
export PAGE="$work/page.md" CASES_FOLDER="$work/cases"
for c in A1:short A1-long:long B2:short; do mkdir -p "$CASES_FOLDER/${c%:*}" && echo "cost: ${c#*:}   # class" >"$CASES_FOLDER/${c%:*}/reference.yaml"; done
head='| case   | quantity | measured | expected | error | seconds | result |
|--------|----------|----------|----------|-------|---------|---------|'
printf '%s\n| A1     | depth    |      0.5 | 0.5 +- 1 %%  | 0.0 | 1.0 | ok   |\n| A1     | law      |        3 | <= 1     | nan | 1.0 | FAIL |\n| B2     | angle    |       31 |          | nan | 1.0 | -    |\n' "$head" >"$work/first"
printf '%s\n| A1     | depth    |     0.51 | 0.5 +- 1 %%  | 0.0 | 1.0 | FAIL |\n| A1-long | rate    |        2 | >= 1     | nan | 9.0 | ok   |\n' "$head" >"$work/second"
has() { grep -qxF -- "$1" "$PAGE" || { cat "$PAGE"; fail "no line: $1"; }; }
count_of() { grep -cF -- "$1" "$PAGE"; }
status 0 sh validation/acceptance.sh "$work/first"
has '| A1 | short | depth | 0.5 | 0.5 +- 1 % | pass |'
has '| B2 | short | angle | 31 | - | - |'
has '| cases with results | 2 of 3 |'
has 'Cases without results: A1-long.'
[ "$(count_of '| A1 | short | law | 3 | <= 1 | fail |')" = 2 ] || fail "a failed quantity is not in both tables"
pass "a table becomes a page"
cp "$PAGE" "$work/before"
status 0 sh validation/acceptance.sh "$work/first"
cmp -s "$PAGE" "$work/before" || fail "the same table changes the page"
pass "the same table changes nothing"
status 0 sh validation/acceptance.sh "$work/second"
has '| A1 | short | depth | 0.51 | 0.5 +- 1 % | fail |'
has '| A1-long | long | rate | 2 | >= 1 | pass |'
has '| B2 | short | angle | 31 | - | - |'
has '| quantities that pass | 1 |'
has '| quantities that fail | 1 |'
[ "$(count_of '| law |')" = 0 ] || fail "an old row of a case remains"
pass "rows of cases in the new table are replaced, others stay"
rm -r "$CASES_FOLDER/B2"
status 0 sh validation/acceptance.sh "$work/second"
[ "$(count_of '| B2 |')" = 0 ] || fail "a case without folder remains"
pass "cases without folder are dropped"
status 1 sh validation/acceptance.sh "$work/none"
says "not found; run make validate"
pass "a missing table is an error"

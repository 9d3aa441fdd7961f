#!/bin/sh
# Writes validation/ACCEPTANCE.md: one row per compared quantity of every case (`make validate` calls it).
#   sh validation/acceptance.sh TABLE...     TABLE: build/validation/table.md, as validation/validate.c writes it
# Rows of cases that are in a table replace the rows of these cases in the page; rows of all other cases stay. A later table replaces an
# earlier one. Cases that no longer exist are dropped. The class (short, long) is read from the reference.yaml of the case.
cd "$(dirname "$0")/.." || exit 1
page=${PAGE:-validation/ACCEPTANCE.md} cases=${CASES_FOLDER:-validation/cases}
[ $# -gt 0 ] || { echo "usage: acceptance.sh TABLE..." >&2; exit 2; }
for t in "$@"; do [ -r "$t" ] || { echo "$t: not found; run make validate" >&2; exit 1; }; done
[ -e "$page" ] || : >"$page"
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
grep -H '^cost:' "$cases"/*/reference.yaml | sed "s|^$cases/\([^/]*\)/reference.yaml:cost: *\([a-z]*\).*|\1 \2|" | LC_ALL=C sort >"$work/classes"
# Table of validate.c: case, quantity, measured, expected, error, seconds, result. Page: case, class, quantity, measured, target, result.
LC_ALL=C awk -F' *[|] *' -v classes="$work/classes" -v page="$page" '
  function add(id, text) { row[id, ++n[id]] = text; if (text ~ /[|] fail [|]$/) failed[id]++; else if (text ~ /[|] pass [|]$/) passed[id]++ }
  function clear(id) { n[id] = 0; failed[id] = 0; passed[id] = 0 }
  function print_rows(id, only_failed,   k) {
    for (k = 1; k <= n[id]; ++k) if (!only_failed || row[id, k] ~ /[|] fail [|]$/) print "| " id " | " class[id] " | " row[id, k] }
  BEGIN { while ((getline line < classes) > 0) { split(line, w, " "); order[++n_cases] = w[1]; class[w[1]] = w[2] } }
  FNR == 1 { split("", begun) }
  FILENAME == page && /^## All/ { in_list = 1 }
  FILENAME == page { if (in_list && ($2 in class) && NF == 8) add($2, $4 " | " $5 " | " $6 " | " $7 " |"); next }
  ($2 in class) && NF == 9 {
    if (!($2 in begun)) { begun[$2] = 1; clear($2) }
    add($2, $3 " | " $4 " | " ($5 == "" ? "-" : $5) " | " ($8 == "ok" ? "pass" : $8 == "FAIL" ? "fail" : "-") " |") }
  END {
    for (i = 1; i <= n_cases; ++i) {
      id = order[i]; all_passed += passed[id]; all_failed += failed[id]
      if (!n[id]) missing = missing (missing ? ", " : "") id; else { ++n_run; if (failed[id]) ++n_bad }
    }
    print "# Acceptance\n\nResults of the [validation cases](README.md). `make validate` writes this page; a run of some cases replaces the rows of these cases."
    print "Targets and bounds are those of `reference.yaml` in the folder of the case. Rows without target are reported and not compared."
    print "[Known limits](../docs/limits.md) explains failures.\n"
    head = "| case | class | quantity | measured | target | result |\n|---|---|---|---|---|---|"
    print "| | number |\n|---|---|"
    printf "| cases with results | %d of %d |\n| cases with a failed quantity | %d |\n| quantities that pass | %d |\n| quantities that fail | %d |\n", n_run, n_cases, n_bad, all_passed, all_failed
    if (missing) print "\nCases without results: " missing "."
    if (all_failed) { print "\n## Failed quantities\n\n" head; for (i = 1; i <= n_cases; ++i) print_rows(order[i], 1) }
    print "\n## All quantities\n\n" head; for (i = 1; i <= n_cases; ++i) print_rows(order[i], 0)
  }' "$page" "$@" >"$work/page" && cat "$work/page" >"$page"

#!/bin/sh
# Checks the documents against the tree and the program: sh config/check_documents.sh PROGRAM
#   links to files and sections that do not exist; documents that no chain of links from README.md reaches;
#   files of this repository and job keys in backquotes that do not exist (keys: those of the blocks listed in part 4)
#   columns of history.csv that do not exist: after "history.", also in validation cases; in backquotes, those that CHANGELOG.md lists as old
program=${1:?usage: check_documents.sh PROGRAM}
cd "$(dirname "$0")/.." || exit 1
work=$(mktemp -d); trap 'rm -rf "$work"' EXIT
bad=0
fail() { echo "$1"; bad=1; }
documents=$(git ls-files '*.md')

# 1. Links. A section's anchor: its title in lower case, without punctuation, spaces as hyphens.
for f in $documents; do
  awk '/^```/ { code = !code } !code && /^#+ / { sub(/^#+ +/, ""); t = tolower($0); gsub(/`/, "", t); gsub(/[^a-z0-9 _-]/, "", t); gsub(/ /, "-", t); print t }' "$f" >"$work/anchors_$(echo "$f" | tr / _)"
done
: >"$work/links"
for f in $documents; do
  awk -v f="$f" '/^```/ { code = !code; next } code { next } { line = $0; gsub(/`[^`]*`/, "", line)
    while (match(line, /\]\([^() ]+\)/)) { print f, substr(line, RSTART + 2, RLENGTH - 3); line = substr(line, RSTART + RLENGTH) } }' "$f" >>"$work/links"
done
: >"$work/edges"
while read -r f link; do
  case $link in http://* | https://* | mailto:*) continue ;; esac
  path=${link%%#*} anchor=
  case $link in *#*) anchor=${link#*#} ;; esac
  if [ -n "$path" ]; then target=$(cd "$(dirname "$f")" && realpath -m --relative-to="$OLDPWD" "$path"); else target=$f; fi
  [ -e "$target" ] || { fail "$f: the target of the link $link does not exist"; continue; }
  echo "$f $target" >>"$work/edges"
  [ -z "$anchor" ] || case $target in
    *.md) grep -qx -- "$anchor" "$work/anchors_$(echo "$target" | tr / _)" || fail "$f: $target has no section #$anchor" ;;
  esac
done <"$work/links"

# 2. Reachable from README.md
echo README.md >"$work/reached"
while :; do
  sort -u "$work/reached" >"$work/before"
  { cat "$work/before"; awk 'NR == FNR { r[$1] = 1; next } $1 in r { print $2 }' "$work/before" "$work/edges"; } | sort -u >"$work/reached"
  cmp -s "$work/before" "$work/reached" && break
done
for f in $documents; do grep -qx "$f" "$work/reached" || fail "$f: not reachable by links from README.md"; done

# 3. Files that documents name in backquotes, with a folder and an ending
for f in $documents; do
  grep -oE '`[A-Za-z0-9_./-]+/[A-Za-z0-9_.-]+\.(c|h|sh|awk|md|yaml|csv|mk|py|urdf|obj|gp|cfg|png|svg)`' "$f" | tr -d '`' | sort -u | while read -r p; do
    case $p in *NAME* | */[A-Z]/* | run/* | build/* | DIR/* | measure/* | checkpoints/* | frames/* | sweep/* | /*) continue ;; esac
    [ -e "$p" ] || [ -e "$(dirname "$f")/$p" ] || [ -e "src/$p" ] || [ -e "tests/$p" ] || [ -e "validation/$p" ] || [ -e "jobs/$p" ] || echo "$f: the file $p does not exist"
  done
done >"$work/files"
[ ! -s "$work/files" ] || fail "$(cat "$work/files")"

# 4. Keys in backquotes whose first word is a block of the job: `solver.newton.tolerance`
{ "$program" schema job; "$program" schema job --expert; } >"$work/job.md"
awk '/^## / { table = $2; next } /^\| `/ { split($0, c, "`"); key = c[2]; print (table == "job" ? "" : table ".") key }' "$work/job.md" | sort -u >"$work/keys"
blocks='time|contact|solver|output|picture|mpm|mac'
for f in $documents; do
  case $f in CHANGELOG.md) continue ;; esac # it lists old names, too
  grep -oE "\`($blocks)\.[a-z_]+(\.[a-z_]+)*\`" "$f" | tr -d '`' | sort -u | while read -r key; do
    grep -qxF "$key" "$work/keys" || echo "$f: the job has no key $key"
  done
done >"$work/bad_keys"
[ ! -s "$work/bad_keys" ] || fail "$(cat "$work/bad_keys")"

# 5. Columns of history.csv. An old name in backquotes may still be a key of the job.
"$program" schema history | sed -n 's/^| `\([a-z_]*\)` .*/\1/p' | sort -u >"$work/columns"
grep -noE 'history\.[a-z_]+' $documents $(git ls-files 'validation/cases/*/reference.yaml') | grep -vE 'history\.(csv|md|h|c)$' | while IFS=: read -r f line name; do
  grep -qxF "${name#history.}" "$work/columns" || echo "$f:$line: history.csv has no column ${name#history.}"
done >"$work/bad_columns"
sed -n '/^Columns of `history.csv`/,/^### Job keys/s/^| \(`[^|]*\)|.*/\1/p' CHANGELOG.md | grep -oE '[a-z_]+' | sort -u >"$work/old_columns"
for f in $documents; do
  case $f in CHANGELOG.md | docs/reference/* | validation/README.md) continue ;; esac
  grep -oE '`[a-z_]+`' "$f" | tr -d '`' | sort -u | grep -xFf "$work/old_columns" | sed "s,^,$f: old name of a column of history.csv: ,"
done >>"$work/bad_columns"
[ ! -s "$work/bad_columns" ] || fail "$(cat "$work/bad_columns")"

[ $bad = 0 ] && echo "$(echo "$documents" | wc -w) documents, $(wc -l <"$work/links") links, $(wc -l <"$work/keys") keys, $(wc -l <"$work/columns") columns: all exist"
exit $bad

#!/bin/sh
# Counts avoided phrases (config/avoided_phrases) and sentence lengths in comments, messages and documents.
#   sh config/check_language.sh          totals per top folder
#   sh config/check_language.sh -f       also one line per file: avoided phrases, sentences, mean words per sentence
# Code files: the text of comments and of string literals counts. Documents: everything outside code blocks and tables. Cases: title,
# reference and notes of reference.yaml, comments of the other files.
cd "$(dirname "$0")/.." || exit 1
files=$(git ls-files 'src/*.[ch]' 'tests/*.[ch]' 'tests/*.sh' 'docs/*.md' 'validation/*.md' 'validation/cases/*.yaml' 'jobs/*.yaml' 'jobs/*.md' README.md CHANGELOG.md CONTRIBUTING.md 2>/dev/null)
awk -v per_file="${1:-}" '
function flush_text(   n, i, s, t, w, k) {
  t = text
  gsub(/`[^`]*`/, "x", t) # names of keys, options and files
  t = " " tolower(t) " "
  gsub(/[ \n\t]+/, "  ", t) # two spaces: each match takes the characters around it
  for (i = 1; i <= n_phrase; ++i) { s = t; k = gsub(phrase[i], "&", s); hits[file] += k; by_phrase[i] += k }
  gsub(/`[^`]*`/, "x", text); gsub(/[0-9]\.[0-9]/, "0", text); gsub(/(e\.g|i\.e|cf|Fig|sec|eq)\./, "x", text)
  n = split(text, sentence, /[.!?]+[ \n\t]+|\n[ \t]*\n/)
  for (i = 1; i <= n; ++i) { w = split(sentence[i], word, /[ \n\t]+/); if (w >= 4) { ++sentences[file]; words[file] += w } }
  text = ""
}
FILENAME == "config/avoided_phrases" { if ($0 !~ /^#/ && NF) name[++n_phrase] = $0; gsub(/ /, " +"); phrase[n_phrase] = "[^a-z_](" $0 ")[^a-z_]"; next }
FNR == 1 { if (file != "") flush_text(); file = FILENAME; in_comment = 0; in_code = 0; order[++n_file] = file }
file ~ /\.md$/ { if (/^ *```/) { in_code = !in_code; next } if (in_code || /^ *\|/) next; text = text $0 "\n"; next }
file ~ /reference\.yaml$/ {
  if (/^[a-z]+:/) in_text = /^(title|reference):/
  if (in_text) { sub(/^[a-z]+:( >-)?/, ""); text = text $0 "\n" }
  else if (match($0, /note: .*}/)) text = text substr($0, RSTART + 6, RLENGTH - 7) ". \n"
  next
}
file ~ /\.(yaml|sh)$/ { if (match($0, /(^|[ \t])#[^!].*/)) text = text substr($0, RSTART + 1) "\n"; next }
{ line = $0
  while (line != "") {
    if (in_comment) { e = index(line, "*/"); if (e) { text = text substr(line, 1, e - 1) ". \n"; line = substr(line, e + 2); in_comment = 0 } else { sub(/^ *\* ?/, "", line); text = text line "\n"; line = "" } }
    else if (match(line, /"([^"\\]|\\.)*"|\/\*|\/\//)) {
      m = substr(line, RSTART, RLENGTH); rest = substr(line, RSTART + RLENGTH)
      if (m == "/*") { in_comment = 1; line = rest }
      else if (m == "//") { text = text rest ". \n"; line = "" }
      else { if (m ~ / / && line !~ /^#include/) text = text substr(m, 2, length(m) - 2) ". \n"; line = rest }
    } else line = ""
  } }
END {
  flush_text()
  for (i = 1; i <= n_file; ++i) { f = order[i]; n = split(f, p, "/"); g = n == 1 ? "." : p[1] == "src" && n > 2 ? p[1] "/" p[2] : p[1]
    H[g] += hits[f]; S[g] += sentences[f]; W[g] += words[f]; h += hits[f]; s += sentences[f]; w += words[f]
    if (per_file == "-f" && sentences[f]) printf "%5d %5d %5.1f  %s\n", hits[f], sentences[f], words[f] / sentences[f], f }
  if (per_file == "-p") for (i = 1; i <= n_phrase; ++i) printf "%5d  %s\n", by_phrase[i], name[i]
  for (g in H) if (S[g]) printf "%-16s %6d avoided phrases, %6d sentences of %.1f words on average\n", g, H[g], S[g], W[g] / S[g] | "sort"
  close("sort")
  printf "%-16s %6d avoided phrases, %6d sentences of %.1f words on average\n", "total", h, s, s ? w / s : 0
}' config/avoided_phrases $files

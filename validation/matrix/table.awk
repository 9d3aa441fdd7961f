# The table of the README out of the rows of matrix.csv: for each thing that falls (down) on another (across), the formulations under which the run
# holds, and those under which it fails, with a note. What is refused has no letter.
function cells(line, out,  n, i, field, c, quoted) { # fields of a row, with quotes taken off
  n = 1; field = ""
  for (i = 1; i <= length(line); ++i) {
    c = substr(line, i, 1)
    if (c == "\"") { if (quoted && substr(line, i + 1, 1) == "\"") { field = field c; ++i } else quoted = !quoted }
    else if (c == "," && !quoted) { out[n++] = field; field = "" }
    else field = field c
  }
  out[n] = field
  return n
}
function name(kind) { return kind == "mpm" ? "MPM" : kind == "mac" ? "staggered grid" : kind == "fem" ? "FEM" : kind }
BEGIN {
  split("mpm mac fem cloth rod rigid articulated static", kind, " ")
  split("penalty exact convex monolith hybrid", formulation, " ")
}
NR > 1 { cells($0, f); result[f[1], f[2], f[3]] = f[4]; why[f[1], f[2], f[3]] = f[5] }
END {
  printf "| falls on |"; for (j = 1; j <= 8; ++j) printf " %s |", name(kind[j])
  printf "\n|"; for (j = 0; j <= 8; ++j) printf "---|"
  print ""
  for (i = 1; i <= 7; ++i) {
    printf "| %s |", name(kind[i])
    for (j = 1; j <= 8; ++j) {
      cell = ""
      for (k = 1; k <= 5; ++k) {
        at = formulation[k] SUBSEP kind[i] SUBSEP kind[j]
        if (result[at] == "holds") cell = cell " " toupper(substr(formulation[k], 1, 1))
        if (result[at] == "fails") {
          if (!(why[at] in note)) { note[why[at]] = ++notes; text[notes] = why[at] }
          cell = cell " " toupper(substr(formulation[k], 1, 1)) "<sup>" note[why[at]] "</sup>"
        }
      }
      printf "%s |", cell
    }
    print ""
  }
  for (n = 1; n <= notes; ++n) printf "%s<sup>%d</sup> %s%s\n", n == 1 ? "\n" : "", n, text[n], n < notes ? "." : "."
}

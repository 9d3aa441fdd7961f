# Lists the single-token mutations of a C file: line, column, length of the token, the token, its replacement, text of the line (separated by tabs).
# Comments, texts, preprocessor lines, sizes of arrays of characters and rows of key tables are skipped. Called by validation/mutations.sh.
#
# Kinds: arithmetic operators, signs, comparisons, logical operators, compound assignments, increments, constants, indices, minimum and maximum.
function add(column, token, to) { printf "%d\t%d\t%d\t%s\t%s\t%s\n", FNR, column, length(token), token, to, $0 }

# The line with comments, texts and characters replaced by blanks of the same length.
function blank(line,   out, i, c, two) {
  out = ""
  for (i = 1; i <= length(line); ++i) {
    c = substr(line, i, 1); two = substr(line, i, 2)
    if (in_comment) {
      if (two == "*/") { in_comment = 0; out = out " "; ++i }
      out = out " "
    } else if (two == "/*") { in_comment = 1; out = out "  "; ++i
    } else if (two == "//") { while (i <= length(line)) { out = out " "; ++i }
    } else if (c == "\"" || c == "'") {
      out = out " "
      for (++i; i <= length(line) && substr(line, i, 1) != c; ++i) {
        out = out " "
        if (substr(line, i, 1) == "\\") { out = out " "; ++i }
      }
      out = out " "
    } else out = out c
  }
  return out
}

function number_to(token) {
  if (token ~ /^[0-9]+$/) return token == "0" ? "1" : token == "1" ? "2" : (token - 1) ""
  if (token ~ /^0\.0*$/ || token == "0.") return "1.0"
  return "(2.0 * " token ")"
}

function minmax(token) {
  if (token == "fmin") return "fmax"
  if (token == "fmax") return "fmin"
  if (token ~ /^min_(i64|i32|int|size|double)/) return "max_" substr(token, 5)
  if (token ~ /^max_(i64|i32|int|size|double)/) return "min_" substr(token, 5)
  if (token == "true") return "false"
  if (token == "false") return "true"
  return ""
}

BEGIN {
  split("+ - * / < <= > >= == != && || += -= *= /=", from, " ")
  split("- + / * <= < >= > != == || && -= += /= *=", into, " ")
  for (i in from) to[from[i]] = into[i]
}
{
  line = blank($0)
  if (skips_preprocessor || line ~ /^[ \t]*#/) { skips_preprocessor = $0 ~ /\\$/; next }
  if (line ~ /^[ \t]*(static )?(const )?(unsigned )?char .*\[/ || line ~ /KEY_|\.help|SETERRQ|log_(info|warn|debug)|snprintf|text_printf|diagnostics_add/) next
  previous = ""
  for (i = 1; i <= length(line);) {
    c = substr(line, i, 1)
    if (c == " ") { ++i; continue }
    rest = substr(line, i)
    if (match(rest, /^[A-Za-z_][A-Za-z_0-9]*/)) {
      token = substr(rest, 1, RLENGTH)
      if ((m = minmax(token)) != "") add(i, token, m)
    } else if (match(rest, /^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?[uUlLfF]*/) || match(rest, /^0[xX][0-9a-fA-F]+[uUlL]*/)) {
      token = substr(rest, 1, RLENGTH)
      if (token ~ /^([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?$/) add(i, token, number_to(token))
    } else if (match(rest, /^(->|<<=|>>=|<<|>>|\+\+|--|<=|>=|==|!=|&&|\|\||\+=|-=|\*=|\/=|%=|&=|\|=|\^=)/)) {
      token = substr(rest, 1, RLENGTH)
      if (token in to) add(i, token, to[token])
      else if (token == "++" && line !~ /for \(/) add(i, token, "--")
      else if (token == "--" && line !~ /for \(/) add(i, token, "++")
    } else {
      token = c
      is_spaced = substr(line, i - 1, 1) == " " && substr(line, i + 1, 1) == " "
      if (is_spaced && token in to) add(i, token, to[token])
      else if (token == "-" && previous ~ /^([-+*\/(,=<>?:[{]|return|==|<=|>=|!=|&&|\|\||\+=|-=)$/) add(i, token, " ")
    }
    previous = token
    i += length(token)
  }
}

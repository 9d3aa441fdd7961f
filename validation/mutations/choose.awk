# Orders mutations by a hash value of seed, file, text of the line, token and replacement; the first ones are the random choice. Changes of other
# lines do not change these values, so that a table of results remains valid. Called by validation/mutations.sh.
# Input: file, line, column, length, token, replacement, text of the line (separated by tabs). Output: the hash value, then the input without the text.
# Variable: seed
function hash(text,   h, i) { # polynomial modulo 2^31 - 1; products stay below 2^53
  h = seed % 2147483646 + 1
  for (i = 1; i <= length(text); ++i) h = (16807 * h + ord[substr(text, i, 1)]) % 2147483647
  for (i = 0; i < 5; ++i) h = (48271 * h + 11) % 2147483647
  return h
}
BEGIN { FS = "\t"; for (i = 1; i < 256; ++i) ord[sprintf("%c", i)] = i }
{
  text = $7
  sub(/^ */, "", text)
  key = $1 "|" text "|" ($3 - length($7) + length(text)) "|" $5 "|" $6
  printf "%010d\t%s\t%d\t%d\t%d\t%s\t%s\n", hash(key "|" ++same[key]), $1, $2, $3, $4, $5, $6
}

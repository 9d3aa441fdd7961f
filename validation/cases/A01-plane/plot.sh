#!/bin/sh
# Draws Fig. 13 of [DingSchroeder2020] for all four representations: `make plots`. $1: the folder of the case's runs.
#
# Per block: normal force and speed over time; total friction over total normal force, every step; the same for every contact
# point, of every frame. h5dump reads the frames.
set -eu
out=$1
here=$(dirname "$0")
# f_n and f_t of every contact point of every frame of run $1, and whether it slides
points()
{
  echo "# f_n [N], f_t [N], sliding"
  for frame in "$out/$1"/frames/*.h5; do
    for field in force normal sliding; do
      h5dump -A 0 -y -w 1 -m %.9g -d "/fields/contact/points/$field" "$frame" | awk '/DATA \{/ {on = 1; next} /\}/ {on = 0} on && NF {print $1 + 0}' > "$out/$field.txt"
    done
    paste - - - < "$out/force.txt" > "$out/force3.txt"
    paste - - - < "$out/normal.txt" | paste "$out/force3.txt" - "$out/sliding.txt" |
      awk 'NF == 7 {n = $1 * $4 + $2 * $5 + $3 * $6; x = $1 - n * $4; y = $2 - n * $5; z = $3 - n * $6; print n, sqrt(x * x + y * y + z * z), $7}'
  done
  rm -f "$out/force.txt" "$out/normal.txt" "$out/sliding.txt" "$out/force3.txt"
}
for run in r_slide r_stick d_slide d_stick m_slide m_stick i_slide i_stick; do points $run > "$out/$run/points.txt"; done
gnuplot -e "out = '$out'" "$here/plot.gp"
echo "$out: $(cd "$out" && echo ./*.png)"

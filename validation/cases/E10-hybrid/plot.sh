#!/bin/sh
# Draws Fig. 12 of [MarquezRazonEtAl2023]: linear and angular momentum of two turning blocks that collide, symplectic and backward Euler: `make plots`.
# $1: the folder of the case's runs.
set -eu
out=$1
gnuplot -e "out = '$out'" "$(dirname "$0")/plot.gp"
echo "$out: $(cd "$out" && echo ./*.png)"

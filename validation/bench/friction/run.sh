# run.sh FOLDER [LIMIT]: the friction bench, with Siconos where it is installed. Nothing else needs Siconos. B: the build folder.
set -eu
here=validation/bench/friction
out=$B/bench/friction
siconos=
flags="-isystem /usr/include/siconos -isystem /usr/include/siconos/numerics -isystem /usr/include/siconos/externals"
if printf '#include <NonSmoothDrivers.h>\nint main(void){return fc3d_driver==0;}\n' | ${CC:-cc} $flags -x c - -o "$out/probe" -lsiconos_numerics 2>/dev/null; then
  ${CC:-cc} -std=gnu11 -O2 -Wall -Wextra $flags $here/siconos_solve.c -o "$out/siconos_solve" -lsiconos_numerics -lm
  siconos=$out/siconos_solve
fi
rm -f "$out/probe"
"$out/bench_friction" "$B/stickslip" "$siconos" "$1" "$out/result" ${2:+"$2"}

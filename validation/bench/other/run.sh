# The scenes of scene.h in stickslip and in those other engines that are installed (Debian: libode-dev, libbullet-dev, libmujoco-dev, python3-siconos), each
# with one thread. B: the build folder. Nothing else needs these engines. What is built here is this folder's own, so a failure is an error.
set -eu
here=validation/bench/other
out=$B/bench/other
flags="-O2 -Wall -Wextra -Isrc -I$here"
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
echo "| scene                  | engine                                       | height      | creep, 5 to 10 s  | tilt, deg | us a step |"
echo "|------------------------|----------------------------------------------|-------------|-------------------|---------|-----------|"
"$out/stickslip"
if pkg-config --exists ode 2>/dev/null; then
  ${CXX:-g++} $flags $(pkg-config --cflags ode) $here/ode.cpp -o "$out/ode" $(pkg-config --libs ode)
  "$out/ode"
else echo "ODE: not installed"; fi
if pkg-config --exists bullet-float64 2>/dev/null; then
  ${CXX:-g++} $flags $(pkg-config --cflags bullet-float64 | sed 's/-I/-isystem /g') $here/bullet.cpp -o "$out/bullet" $(pkg-config --libs bullet-float64)
  "$out/bullet"
else echo "Bullet: not installed"; fi
if printf '#include <mujoco/mujoco.h>\nint main(void){return mj_version()==0;}\n' | ${CC:-cc} -x c - -o "$out/probe" -lmujoco 2>/dev/null; then
  ${CC:-cc} -std=gnu11 $flags $here/mujoco.c -o "$out/mujoco" -lmujoco -lm
  "$out/mujoco"
else echo "MuJoCo: not installed"; fi
if /usr/bin/python3 -c 'import siconos.mechanics.collision.bullet' 2>/dev/null; then
  "$out/stickslip" --scenes | /usr/bin/python3 $here/run_siconos.py | grep '^|' # its kernel reports each step that its solver gives up on
else echo "Siconos: not installed"; fi

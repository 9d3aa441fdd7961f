# Piles of rigid bodies in stickslip and in ODE, Bullet and MuJoCo where they are installed (Debian: libode-dev, libbullet-dev, libmujoco-dev), one thread. Per scene: CPU seconds for one
# simulated second, mean of the last 20 steps, slowest step, largest overlap at the end; for stickslip also the mean time of the contact search per step, and in the last 20 steps the
# largest residual (solver.newton.tolerance) and, under exact, the largest creep or approach velocity that is left. B: build folder; SIZES: edges of the cubes of bodies, default "5 10";
# FORMS: formulations, default "exact convex penalty".
set -eu
here=validation/bench/piles
out=$B/bench/piles
mkdir -p "$out"
export OMP_NUM_THREADS=1
ode='' bullet=''
if pkg-config --exists ode 2>/dev/null; then
  ${CXX:-g++} -O2 -Wall -Wextra -I$here $(pkg-config --cflags ode) $here/ode.cpp -o "$out/ode" $(pkg-config --libs ode)
  ode=1
else echo "ODE: not installed"; fi
if pkg-config --exists bullet-float64 2>/dev/null; then
  ${CXX:-g++} -O2 -Wall -Wextra -I$here $(pkg-config --cflags bullet-float64 | sed 's/-I/-isystem /g') $here/bullet.cpp -o "$out/bullet" $(pkg-config --libs bullet-float64)
  bullet=1
else echo "Bullet: not installed"; fi
mujoco=''
if printf '#include <mujoco/mujoco.h>\nint main(void){return mj_version()==0;}\n' | ${CC:-cc} -x c - -o "$out/probe" -lmujoco 2>/dev/null; then
  ${CXX:-g++} -O2 -Wall -Wextra -I$here $here/mujoco.cpp -o "$out/mujoco" -lmujoco
  mujoco=1
else echo "MuJoCo: not installed"; fi
for n in ${SIZES:-5 10}; do
  for shape in ball cube; do
    echo
    echo "$((n * n * n)) ${shape}s"
    echo "| engine                               | s, 1 s     | late, ms   | worst, ms  | overlap, mm | search, ms | residual   | creep, m/s |"
    echo "|--------------------------------------|------------|------------|------------|------------|------------|------------|------------|"
    awk -v n="$n" -v shape="$shape" -v as=table -f $here/scene.awk >"$out/$shape$n.txt"
    [ -z "$ode" ] || "$out/ode" "$out/$shape$n.txt"
    [ -z "$bullet" ] || "$out/bullet" "$out/$shape$n.txt"
    # 1000 bodies take minutes to hours
    [ -z "$mujoco" ] || [ "$n" -gt 5 ] || "$out/mujoco" "$out/$shape$n.txt"
    for form in ${FORMS:-exact convex penalty}; do
      job=$out/$shape$n-$form
      awk -v n="$n" -v shape="$shape" -v as=job -v form="$form" -f $here/scene.awk >"$job.yaml"
      "$B/stickslip" run "$job.yaml" --out "$job" --force --threads 1 --no-picture --quiet >"$job.log" 2>&1 || cat "$job.log"
      # wall time: CPU time of single steps is not recorded; both agree on an idle machine
      awk -F, -v name="stickslip $form" -v search="$(awk -F, '$1 == "contact search" { print $2 }' "$job/stages.csv")" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; speed = at["friction_residual_speed [m/s]"]; next }
        { t[++m] = $at["seconds [s]"]; sum += t[m]; if (t[m] > worst) worst = t[m]; p = $at["penetration [m]"]; rest[m] = $at["residual"]; if (speed) creep[m] = $speed }
        END { for (k = m > 20 ? m - 19 : 1; k <= m; k++) {
                late += t[k] / 20
                if (rest[k] > residual) residual = rest[k]
                if (creep[k] > fastest) fastest = creep[k]
              }
              printf "| %-36s | %10.3g | %10.3g | %10.3g | %10.3g | %10.3g | %10.3g | %10s |\n", name, sum, 1e3 * late, 1e3 * worst, 1e3 * p, 1e3 * search / m, residual,
                     speed ? sprintf("%.3g", fastest) : "" }' "$job/history.csv"
    done
  done
done

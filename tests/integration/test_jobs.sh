# Every job that comes with the program is taken by `stickslip check`, and described.
. tests/integration/common.sh

# The scenes of [TakahashiBatty2021]: its grids, and its particles to 2.5 %. Of the trapezoid it gives neither.
published() { # JOB
  case $1 in
  board) echo "64 x 64 x 64" 90200 ;;
  box) echo "96 x 96 x 96" 138600 ;;
  column) echo "80 x 80 x 80" 26000 ;;
  drum) echo "64 x 64 x 64" 70200 ;;
  grain_rabbit) echo "80 x 80 x 80" 176500 ;;
  heap_block | heap_rabbit) echo "64 x 64 x 64" 173700 ;;
  hourglass) echo "80 x 160 x 80" 463400 ;;
  pinched_cube) echo "128 x 128 x 64" 144000 ;;
  slope_cube) echo "192 x 144 x 96" 177200 ;;
  wall_separation) echo "128 x 128 x 128" 1200000 ;;
  esac
}
as_published() { # JOB
  expected=$(published "$1")
  [ -n "$expected" ] || { [ "$1" = trapezoid ] || fail "$1: which scene of the paper is it?"; return; }
  says "particles on a staggered grid of ${expected% *} cells"
  awk -v wanted="${expected##* }" '{ for (i = 2; i <= NF; ++i) if ($i == "particles") sum += $(i - 1) } END { exit !(sum >= 0.975 * wanted && sum <= 1.025 * wanted) }' "$work/out" ||
    fail "$1: not within 2.5 % of ${expected##* } particles"
}

# The scenes of [ZongJiangHan2024] with as many particles as it has.
as_many() { # JOB
  case $1 in
  dough_tearing) says ", 1647 particles" ;;
  dough_rolling) says ", 5863 particles" ;;
  ball_slope_mpm) says ", 6777 particles" ;;
  panels_mpm) says ", 512 particles" ;;
  water_pouring) says ", 791 particles" ;;
  shake) [ "$(grep -c ", 1728 particles" "$work/out")" = 2 ] || fail "shake: not 3456 particles" ;;
  esac
}

for job in jobs/*.yaml jobs/penalty/*.yaml jobs/exact/*.yaml jobs/rod/*.yaml jobs/monolith/*.yaml jobs/convex/*.yaml jobs/piles/*.yaml; do
  status 0 "$program" check "$(pwd)/$job" && says "steps of"
  case $job in
  jobs/monolith/*) as_published "$(basename "$job" .yaml)" ;;
  jobs/convex/*) as_many "$(basename "$job" .yaml)" ;;
  esac
  pass "$job"
done

# Scene of the benchmark of piles: n^3 balls of radius 50 mm or cubes of 80 mm, which fall into a box of planes. Friction 0.5, density 1000 kg/m^3,
# steps of 5 ms. awk -v n=10 -v shape=ball -v as=job -v form=exact: a job; as=table: one line with n^3, shape (0 ball, 1 cube), half size, width of the
# box, then the centre of each body. The shifts are those of a linear congruential generator, the same with every awk.
function shift() { seed = (seed * 16807) % 2147483647; return (seed / 2147483647 - 0.5) * 0.004 }
BEGIN {
  seed = 3; d = 0.105; L = n * d; half = shape == "ball" ? 0.05 : 0.04
  if (as == "job") {
    printf "stickslip: 1\nname: %s%d-%s\nformulation: %s\ngravity: [0, 0, -9.81]\n", shape, n, form, form
    printf "time: {end: 1.0, step: 5.0e-3, frame: 1.0}\nmaterials: {stone: {model: rigid, density: 1000}}\nbodies:\n"
    printf "  floor: {kind: static, shape: {plane: {}}}\n"
    printf "  west: {kind: static, shape: {plane: {point: [0, 0, 0], normal: [1, 0, 0]}}}\n"
    printf "  east: {kind: static, shape: {plane: {point: [%.17g, 0, 0], normal: [-1, 0, 0]}}}\n", L
    printf "  south: {kind: static, shape: {plane: {point: [0, 0, 0], normal: [0, 1, 0]}}}\n"
    printf "  north: {kind: static, shape: {plane: {point: [0, %.17g, 0], normal: [0, -1, 0]}}}\n", L
  } else printf "%d %d %.17g %.17g\n", n * n * n, shape != "ball", half, L
  for (z = 0; z < n; z++)
    for (y = 0; y < n; y++)
      for (x = 0; x < n; x++) {
        cx = (x + 0.5) * d + shift(); cy = (y + 0.5) * d + shift(); cz = 0.055 + z * 0.115
        if (as != "job") printf "%.17g %.17g %.17g\n", cx, cy, cz
        else if (shape == "ball") printf "  b%d: {kind: rigid, material: stone, shape: {sphere: {center: [%.17g, %.17g, %.17g], radius: %g}}}\n", ++k, cx, cy, cz, half
        else printf "  b%d: {kind: rigid, material: stone, shape: {box: {min: [%.17g, %.17g, %.17g], max: [%.17g, %.17g, %.17g]}}}\n", ++k, cx - half, cy - half, cz - half, cx + half, cy + half, cz + half
      }
  if (as == "job") printf "contact: {friction: 0.5%s}\n", form == "penalty" ? ", stiffness: 1.0e6" : ""
}

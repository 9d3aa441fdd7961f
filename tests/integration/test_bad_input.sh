# Invalid bodies: each error has its place in the job, the key, the value found and the remedy. All are reported together, with code 2, and
# nothing is written. A row of a table: key | part of the message | body.
. tests/integration/common.sh
cd "$work" || exit 1

# ---- meshes in files: a unit cube and its possible defects; the same for tetrahedra ----
corners='v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 0 0 1\nv 1 0 1\nv 1 1 1\nv 0 1 1\n'
bottom='f 1 4 3 2\n' walls='f 1 2 6 5\nf 2 3 7 6\nf 3 4 8 7\nf 4 1 5 8\n' top='f 5 6 7 8\n'
obj() { printf "$2" >"$1.obj"; }
obj good "$corners$bottom$walls$top"
obj open "$corners$bottom$walls"
obj turned "$corners${bottom}f 8 7 6 5\n$walls"
obj twice "$corners$bottom$bottom$walls$top"
obj line "$corners$bottom$walls${top}f 1 1 2\n"
obj number "$corners$bottom$walls${top}f 1 2 99\n"
obj zero "$corners$bottom$walls${top}f 0 1 2\n"
obj nan "v 0 0 nan\n$corners$bottom$walls$top"
obj infinite "v 0 1e999 0\n$corners$bottom$walls$top"
obj huge "v 0 1e35 0\n$corners$bottom$walls$top"
obj corners "$corners"
obj text "hello world\n"
obj empty ""
obj far "v 1e20 0 0\nv 1e20 1 0\nv 1e20 0 1\nv 100000000000000000001 0 0\nf 1 3 2\nf 1 2 4\nf 2 3 4\nf 3 1 4\n"
obj fins "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 -1 0\nv 0 0 1\nf 1 2 3\nf 1 2 4\nf 1 2 5\n"
obj cones "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nv -1 0 0\nv 0 -1 0\nv 0 0 -1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\nf 1 6 5\nf 1 5 7\nf 1 7 6\nf 5 6 7\n"
awk 'BEGIN { OFS = " " } $1 == "v" { print; x[++n] = "v " $2 + 0.3 " " $3 + 0.4 " " $4 + 0.6 } $1 == "f" { f[++m] = $0; g[m] = "f " $2 + 8 " " $3 + 8 " " $4 + 8 " " $5 + 8 }
  END { for (i = 1; i <= n; ++i) print x[i]; for (i = 1; i <= m; ++i) print f[i] "\n" g[i] }' good.obj >through.obj
printf 'solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n' >cut.stl
mkdir folder.obj
nodes='1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n'
msh() { # name, number of nodes, nodes, number of elements, elements
  printf "\$MeshFormat\n2.2 0 8\n\$EndMeshFormat\n\$Nodes\n$2\n$3\$EndNodes\n\$Elements\n$4\n$5\$EndElements\n" >"$1.msh"
}
msh good 4 "$nodes" 1 '1 4 2 1 1 1 2 3 4\n'
msh flat 4 '1 0 0 0\n2 1 0 0\n3 0 1 0\n4 1 1 0\n' 1 '1 4 2 1 1 1 2 3 4\n'
msh folded 5 "${nodes}5 0.2 0.2 0.2\n" 2 '1 4 2 1 1 1 2 3 4\n2 4 2 1 1 1 2 3 5\n'
msh number 4 "$nodes" 1 '1 4 2 1 1 1 2 3 7\n'
msh same 4 "$nodes" 1 '1 4 2 1 1 1 2 3 3\n'
msh nan 4 '1 0 0 0\n2 1 0 0\n3 0 nan 0\n4 0 0 1\n' 1 '1 4 2 1 1 1 2 3 4\n'
msh triangle 4 "$nodes" 1 '1 2 2 1 1 1 2 3\n'
msh brick 8 "${nodes}5 1 1 0\n6 1 1 1\n7 1 0 1\n8 0 1 1\n" 1 '1 5 2 1 1 1 2 3 4 5 6 7 8\n'
msh parts 8 "${nodes}5 5 0 0\n6 6 0 0\n7 5 1 0\n8 5 0 1\n" 2 '1 4 2 1 1 1 2 3 4\n2 4 2 1 1 5 6 7 8\n'
msh overlap 8 "${nodes}5 .1 .1 .1\n6 1.1 .1 .1\n7 .1 1.1 .1\n8 .1 .1 1.1\n" 2 '1 4 2 1 1 1 2 3 4\n2 4 2 1 1 5 6 7 8\n'
msh tips 7 "${nodes}5 -1 0 0\n6 0 -1 0\n7 0 0 -1\n" 2 '1 4 2 1 1 1 2 3 4\n2 4 2 1 1 1 6 5 7\n'
msh huge 99999999999 '1 0 0 0\n' 1 '1 4 2 1 1 1 2 3 4\n'
printf '4 3 0 0\n1 0 0 0\n2 1 0 0\n3 0 1 0\n4 0 0 1\n' >lone.node
cp lone.node number.node && printf '1 4 0\n1 1 2 3 9\n' >number.ele
printf '<VTKFile type="UnstructuredGrid"><UnstructuredGrid><Piece NumberOfPoints="4" NumberOfCells="1">' >cut.vtu

# ---- one job a table ----
head='stickslip: 1
name: bad
time: {end: 0.01, step: 1.0e-3}
materials:
  rubber: {model: fixed_corotated, density: 100, youngs_modulus: 1.0e5, poisson_ratio: 0.3}
  mist: {model: fixed_corotated, density: 1.0e-320, youngs_modulus: 1.0e5, poisson_ratio: 0.3}
  sand: {model: drucker_prager, density: 1600, youngs_modulus: 1.0e6, poisson_ratio: 0.3, friction_angle_deg: 30}
  steel: {model: rigid, density: 7800}
contact: {friction: 0.3, stiffness: 100}
bodies:'
refuse() { # name of the table, beginning and end of every body; rows from stdin
  { printf '%s\n' "$head"; } >job.yaml
  grep . >table
  awk -F' [|] ' -v a="$2" -v b="$3" '{ printf "  b%d: {%s%s%s}\n", NR, a, $3, b }' table >>job.yaml
  first=$(grep -n '^  b1:' job.yaml | cut -d: -f1)
  status 2 "$program" check job.yaml && mv out checked
  status 2 "$program" run job.yaml --out never
  cmp -s out checked || fail "$1: run and check do not say the same"
  [ ! -e never ] && [ ! -e run ] || fail "$1: something was written"
  [ "$(wc -l <out)" = "$(wc -l <table)" ] || { cat out; fail "$1: $(wc -l <table) bad bodies, but $(wc -l <out) complaints"; }
  i=0
  while IFS= read -r row; do
    i=$((i + 1))
    key=${row%% | *} rest=${row#* | } line=$((first + i - 1))
    says=${rest%% | *}
    grep -qE "^job.yaml:$line:[0-9]+: bodies\.b$i${key:+\.}$(printf %s "$key" | sed 's/[].[]/\\&/g'): " out || { sed -n "${line}p" job.yaml; cat out; fail "$1: no complaint about line $line, key \"$key\""; }
    grep "^job.yaml:$line:" out | grep -qF -- "$says" || { grep "^job.yaml:$line:" out; fail "$1: does not say: $says"; }
  done <table
  pass "$1: $i refused"
}

refuse "rigid bodies from files" 'kind: rigid, material: steel, shape: {mesh: {file: ' '}}' <<'E2'
shape.mesh.file | open.obj: the surface is open: 4 edges have only one triangle, the first is from | open.obj
shape.mesh.file | have opposite orientations | turned.obj
shape.mesh.file | edges have more than two triangles | twice.obj
shape.mesh.file | 1 triangles have no area, the first has a corner at (0, 0, 0) | line.obj
shape.mesh.file | number.obj:15: no such vertex | number.obj
shape.mesh.file | zero.obj:15: no such vertex | zero.obj
shape.mesh.file | nan.obj:1: not a finite number: "nan" | nan.obj
shape.mesh.file | infinite.obj:1: not a finite number | infinite.obj
shape.mesh.file | huge.obj:1: a coordinate beyond 1e30 | huge.obj
shape.mesh.file | no triangles in this file | corners.obj
shape.mesh.file | text.obj:1: unsupported statement | text.obj
shape.mesh.file | not a mesh file (empty | empty.obj
shape.mesh.file | triangles have no area | far.obj
shape.mesh.file | more than two triangles | fins.obj
shape.mesh.file | touches itself at 1 vertices, the first is at (0, 0, 0) | cones.obj
shape.mesh.file | passes through itself | through.obj
shape.mesh.file | cut.stl:4: the file ends within a facet | cut.stl
shape.mesh.file | it is a folder, not a file | folder.obj
shape.mesh.file | none.obj: cannot be opened | none.obj
shape.mesh.file | only tetrahedra | good.msh
shape.mesh.file | lacks the array "Points" | cut.vtu
shape.mesh.spacing | thinner than the spacing | good.obj, spacing: 5
shape.mesh.spacing | choose a larger spacing | good.obj, spacing: 1.0e-6
shape.mesh.file | triangles have no area | good.obj, scale: 1.0e-200
E2

refuse "solids from files" 'kind: fem, material: rubber, mesh: {path: ' '}' <<'E2'
mesh.path | 1 tetrahedra have no volume, the first is tetrahedron 1 | flat.msh
mesh.path | 1 tetrahedra are inverted: they lie on the wrong side of a face, the first is tetrahedron 2 | folded.msh
mesh.path | number.msh:13: no such node: "7" | number.msh
mesh.path | have no volume | same.msh
mesh.path | nan.msh:8: not a finite number: "nan" | nan.msh
mesh.path | only triangles: generate tetrahedra inside | triangle.msh
mesh.path | hexahedra, prisms and pyramids cannot be read | brick.msh
mesh.path | 2 separate parts, tetrahedron 2 is not in the first | parts.msh
mesh.path | passes through itself | overlap.msh, allow_parts: true
mesh.path | the boundary touches itself at 1 vertices, the first is vertex 1 | tips.msh
mesh.path | huge.msh:5: the number of nodes must be a whole number from 0 to | huge.msh
mesh.path | lone.ele: cannot be opened | lone.node
mesh.path | number.ele:2: no such point: "9" | number.ele
mesh.path | lacks the array "Points" | cut.vtu
mesh.path | only .msh, .vtu and .ele | good.obj
mesh.path | none.msh: cannot be opened | none.msh
mesh.axis | must not be the zero vector | good.msh, rotate_deg: 3, axis: [0, 0, 0]
mesh | has volume 0 | good.msh, scale: 1.0e-200
 | has a mass of | good.msh, scale: 1.0e30
E2

refuse "graded balls" 'kind: fem, material: rubber, ' '' <<'E2'
grading | is only for a sphere | spacing: 0.5, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, grading: {direction: [0, 0, -1], factor: 2}
grading | is only for a sphere | spacing: 0.5, mesher: stuffing, shape: {sphere: {center: [0, 0, 0], radius: 1}}, grading: {direction: [0, 0, -1], factor: 2}
grading.direction | must not be the zero vector | spacing: 0.5, shape: {sphere: {center: [0, 0, 0], radius: 1}}, grading: {direction: [0, 0, 0], factor: 2}
shape | inverted | spacing: 0.9, shape: {sphere: {center: [0, 0, 0], radius: 1}}, grading: {direction: [0, 0, 1], factor: 100}
E2

refuse "cloth" 'kind: cloth, mass_per_area: 1, stretch: 100, ' '' <<'E2'
 | expected one of `sheet` and `shape` | velocity: [0, 0, 0]
sheet | expected one of `sheet` and `shape` | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, shape: {mesh: {file: open.obj}}
sheet.v | is zero or parallel to u | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [2, 0, 0], cells: [2, 2]}
sheet.cells | expected two whole numbers, at most 1e+07 cells in all, got 1.5 and 2 | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [1.5, 2]}
sheet.cells | got 1e+07 and 1e+07 | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [1.0e7, 1.0e7]}
spacing | remove it | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, spacing: 1
shear | is only for a `sheet`, whose cells have diagonals | shear: 3, shape: {mesh: {file: open.obj}}
spacing | used unchanged; remove it | shape: {mesh: {file: open.obj}}, spacing: 0.1
shape.mesh.spacing | remove it | shape: {mesh: {file: open.obj, spacing: 0.1}}
shape.axis | must not be the zero vector | shape: {mesh: {file: open.obj}, rotate_deg: 3, axis: [0, 0, 0]}
shape | is unbounded, without closed surface | shape: {plane: {}}
shape.mesh.file | have opposite orientations | shape: {mesh: {file: turned.obj}}
shape.mesh.file | more than two triangles | shape: {mesh: {file: fins.obj}}
shape.mesh.file | line.obj: 1 triangles have no area | shape: {mesh: {file: line.obj}}
shape.mesh.file | nan.obj:1: not a finite number | shape: {mesh: {file: nan.obj}}
shape.mesh.file | no triangles in this file | shape: {mesh: {file: corners.obj}}
shape.mesh.file | none.obj: cannot be opened | shape: {mesh: {file: none.obj}}
hold[0].inside | no node of the body is in this shape | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, hold: [{inside: {sphere: {center: [9, 9, 9], radius: 1}}}]
hold[0].axes | is empty | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, hold: [{inside: {sphere: {center: [0, 0, 0], radius: 1}}, axes: []}]
hold[0].displacement | give motion or displacement, not both | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, hold: [{inside: {plane: {}}, motion: {velocity: [1, 0, 0]}, displacement: [0, 0, 0]}]
hold[0].displacement | expected three expressions in X, Y, Z, x, y, z and t, got 2 | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, hold: [{inside: {plane: {}}, displacement: [0, 0]}]
load | expected three expressions in X, Y, Z, x, y, z and t, got 0 | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, load: []
load | "sin(" | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, load: [0, sin(, 0]
pressure[0].inside | the pressure would act on nothing | sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [2, 2]}, pressure: [{value: 1, inside: {sphere: {center: [9, 9, 9], radius: 1}}}]
E2

refuse "solids that are meshed" 'kind: fem, ' '' <<'E2'
 | missing required key "spacing" | material: rubber, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}
 | expected one of `shape` (to be meshed) and `mesh` (a file) | material: rubber, spacing: 1
mesh | expected one of `shape` (to be meshed) and `mesh` (a file) | material: rubber, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, mesh: {path: good.msh}
spacing | a mesh from a file is used unchanged | material: rubber, mesh: {path: good.msh}, spacing: 3
mesher | a mesh from a file is used unchanged | material: rubber, mesh: {path: good.msh}, mesher: stuffing
mesher | use mesher: stuffing | material: rubber, shape: {capsule: {from: [0, 0, 0], to: [0, 0, 1], radius: 0.2}}, spacing: 0.1, mesher: structured
shape | choose a larger spacing | material: rubber, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 1.0e-5
shape | choose a larger spacing | material: rubber, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 1.0e-300
shape | choose a larger spacing | material: rubber, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 1.0e-5, mesher: stuffing
shape | empty or thinner than the spacing | material: rubber, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 100, mesher: stuffing
shape | empty or thinner than the spacing | material: rubber, shape: {torus: {center: [0, 0, 0], major_radius: 1, minor_radius: 0.001}}, spacing: 0.2, mesher: stuffing
shape | has no volume to mesh | material: rubber, shape: {plane: {}}, spacing: 1
shape.intersection | its parts do not intersect | material: rubber, spacing: 0.2, shape: {intersection: [{sphere: {center: [0, 0, 0], radius: 1}}, {sphere: {center: [5, 0, 0], radius: 1}}]}
shape.mesh.file | the surface is open | material: rubber, shape: {mesh: {file: open.obj}}, spacing: 0.2
material | is rigid; a body of kind fem needs a deformable one | material: steel, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 0.5
material | is not elastic; a body of kind fem requires an elastic material | material: sand, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 0.5
material | no material is called "stel"; did you mean "steel"? | material: stel, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 0.5
 | expected 1e-30 to 1e+30 kg | material: mist, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: 0.5
E2

refuse "damping" '' '' <<'E2'
damping.ratio | expected either `stiffness` (a time) or `ratio` and `frequency`, not both | kind: fem, material: rubber, mesh: {path: good.msh}, damping: {stiffness: 0.1, ratio: 0.1, frequency: 2}
damping.frequency | expected either `stiffness` (a time) or `ratio` and `frequency`, not both | kind: cloth, mass_per_area: 1, stretch: 100, shape: {mesh: {file: open.obj}}, damping: {stiffness: 0, frequency: 2}
damping.ratio | requires `frequency` | kind: cloth, mass_per_area: 1, stretch: 100, shape: {mesh: {file: open.obj}}, damping: {ratio: 0.1}
damping.frequency | requires `ratio` | kind: fem, material: rubber, mesh: {path: good.msh}, damping: {frequency: 2}
damping.form | requires stiffness damping: give `stiffness`, or `ratio` and `frequency` | kind: fem, material: rubber, mesh: {path: good.msh}, damping: {mass: 1, form: green}
damping.form | is a key of kind fem; kind cloth has one form of damping; remove it | kind: cloth, mass_per_area: 1, stretch: 100, shape: {mesh: {file: open.obj}}, damping: {stiffness: 0.1, form: spatial}
damping.form | is a key of kind fem; kind rod has one form of damping; remove it | kind: rod, material: rubber, curve: {line: {from: [0, 0, 0], to: [1, 0, 0]}}, segments: 4, section: {circle: 0.01}, damping: {stiffness: 0.1, form: green}
E2

# Errors found by the key tables stop a job before its bodies are built.
refuse "numbers out of range" '' '' <<'E2'
grading.factor | >= 1 | kind: fem, material: rubber, spacing: 0.5, shape: {sphere: {center: [0, 0, 0], radius: 1}}, grading: {direction: [0, 0, 1], factor: 0.5}
spacing | -1 is out of range: must be > 0 m | kind: fem, material: rubber, shape: {box: {min: [0, 0, 0], max: [1, 1, 1]}}, spacing: -1
mesh.scale | 0 is out of range | kind: fem, material: rubber, mesh: {path: good.msh, scale: 0}
damping.mass | -1 is out of range: must be >= 0 | kind: fem, material: rubber, mesh: {path: good.msh}, damping: {mass: -1}
damping.frequency | 0 is out of range: must be > 0 Hz | kind: fem, material: rubber, mesh: {path: good.msh}, damping: {ratio: 0.1, frequency: 0}
damping.form | expected one of spatial, polar or green, got "rotated" | kind: fem, material: rubber, mesh: {path: good.msh}, damping: {stiffness: 0.1, form: rotated}
pressure[0].value | it must be finite | kind: fem, material: rubber, mesh: {path: good.msh}, pressure: [{value: .nan}]
hold[0].axes[1] | expected one of x, y or z, got "q" | kind: fem, material: rubber, mesh: {path: good.msh}, hold: [{inside: {plane: {}}, axes: [x, q]}]
mass | 0 is out of range: must be > 0 kg | kind: rigid, material: steel, mass: 0, shape: {mesh: {file: good.obj}}
inertia[1] | -1 is out of range | kind: rigid, material: steel, inertia: [1, -1, 1], shape: {mesh: {file: good.obj}}
mass_per_area | 0 is out of range | kind: cloth, mass_per_area: 0, stretch: 1, shape: {mesh: {file: open.obj}}
stretch | -1 is out of range | kind: cloth, mass_per_area: 1, stretch: -1, shape: {mesh: {file: open.obj}}
sheet.cells[0] | 0 is out of range | kind: cloth, mass_per_area: 1, stretch: 1, sheet: {corner: [0, 0, 0], u: [1, 0, 0], v: [0, 1, 0], cells: [0, 2]}
E2

# What looks odd and is all right: turned inside out throughout, an open cloth, one that passes through itself, two bodies of one shape.
cat >fine.yaml <<E2
$head
  inverted: {kind: rigid, material: steel, shape: {mesh: {file: inverted.obj}}}
  cloth: {kind: cloth, mass_per_area: 1, stretch: 100, shape: {mesh: {file: open.obj}, translate: [0, 0, 9]}}
  tangle: {kind: cloth, mass_per_area: 1, stretch: 100, shape: {mesh: {file: through.obj}, translate: [9, 0, 0]}}
  again: {kind: rigid, material: steel, shape: {mesh: {file: good.obj}, translate: [0, 5, 0]}}
E2
awk '$1 == "f" { print "f", $5, $4, $3, $2; next } { print }' good.obj >inverted.obj
status 0 "$program" run fine.yaml --out fine --no-picture --steps 2 && pass "odd, but all right"

# A spout that stands on the ground is blocked by what it has released: said once, and the mass stays.
cat >spout.yaml <<E2
$head
  floor: {kind: static, shape: {plane: {}}}
  heap: {kind: mpm, material: sand, spacing: 0.05, velocity: [0, 0, -2], shape: {box: {min: [0, 0, 0], max: [0.2, 0.2, 0.1]}}, pour: {end: 1, every: 0.05}}
measure: {all: {quantity: mass_beyond, body: heap, direction: [0, 0, 1], point: [0, 0, -9]}}
time: {end: 0.15, step: 5.0e-3}
E2
sed -i '3d' spout.yaml
status 0 "$program" run spout.yaml --out spout --no-picture
[ "$(grep -c 'no release at t = ' out)" = 1 ] || { cat out; fail "a blocked spout is not named once"; }
awk -F, 'NR == 2 { first = $3 } END { exit !($3 == first && first > 1) }' spout/measure/all.csv || fail "a blocked spout has poured"
pass "a blocked spout waits"

# ---- pipes and devices as inputs, without waiting ------------------------------------------------------------------------
mkfifo fifo.yaml fifo.obj fifo.urdf; ln -s /dev/zero device.obj; ln -s /dev/zero device.urdf
for f in fifo.yaml /dev/zero; do
  for c in run check; do status 2 timeout 20 "$program" $c $f; says "not a regular file"; done
done
rejects_file() { # BODY
  cat >special.yaml <<E2
$head
  x: {$1}
E2
  status 2 timeout 20 "$program" check special.yaml ${2:-}; says "not a regular file"
}
for f in fifo device; do
  obj=$f.obj urdf=$f.urdf
  rejects_file "kind: rigid, material: steel, shape: {mesh: {file: $obj}}" ""
  rejects_file "kind: articulated, urdf: $urdf" "--set formulation=exact"
  rejects_file "kind: rod, material: rubber, section: {circle: 0.01}, curve: {file: {path: $obj}}"
done
cp -r fine special; rm special/history.csv; mkfifo special/history.csv
timeout 20 "$program" report special >out 2>&1; [ $? != 124 ] || fail "report waits for a pipe"
pass "pipes and devices as job, mesh, robot, curve and history are rejected"

# ---- time.frame ------------------------------------------------------------------------------------------------------------
for frame in 0.003 1.0e-3 1.0e-9 2000.0011; do
  status 2 "$program" check fine.yaml --set time.step=2e-3 --set time.end=0.01 --set time.frame=$frame && says "time.frame: expected a multiple of time.step"
done
for frame in 0.002 0.006 0 2000.002; do status 0 "$program" check fine.yaml --set time.step=2e-3 --set time.end=0.01 --set time.frame=$frame; done
status 0 "$program" run fine.yaml --out framed --no-picture --steps 2 --set time.step=2e-3 --set time.frame=0.006
status 2 "$program" resume framed --set time.step=4e-3 && says "time.frame: expected a multiple of time.step"
printf 'sweep: 1\nname: f\nbase: fine.yaml\nvary: {step: [1.0e-3, 4.0e-3]}\nset: {time.step: step, time.frame: 0.006}\n' >frames.yaml
status 2 "$program" sweep frames.yaml --out frames --script && says "time.frame: expected a multiple of time.step" && says "case 2"
pass "time.frame is a multiple of time.step in jobs, resumed runs and sweeps"

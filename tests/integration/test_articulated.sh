# Articulated bodies: errors give the name and the place in the job or the URDF.
. tests/integration/common.sh
job=$(pwd)/jobs/exact/gripper.yaml
status 0 "$program" check "$job" && says "gripper.left" && says "4 links, 3 degrees of freedom" && pass "a gripper from a URDF"
status 0 "$program" check "$job" --set formulation=convex && pass "also under convex"
for formulation in penalty monolith; do
  status 2 "$program" check "$job" --set formulation=$formulation &&
    says "bodies.gripper.kind: formulation $formulation does not support kind articulated" && pass "$formulation refuses it"
done
status 2 "$program" check "$job" --set measure.grip.body=gripper &&
  says "quantity contact_force needs a link with a shape of an articulated body: body: NAME.LINK" &&
  pass "contacts are those of links"
status 2 "$program" check "$job" --set measure.grip.body=gripper.carriage && says "needs a link with a shape" &&
  pass "of those with a shape"
status 2 "$program" check "$job" --set measure.finger.body=box && says "quantity joint_position needs a link" &&
  pass "joints are meant by their links"
status 2 "$program" check "$job" --set bodies.gripper.joints.wrist.position=1 &&
  says "bodies.gripper.joints.wrist: the URDF file has no joint of this name" && pass "a joint that is not there"
status 2 "$program" check "$job" --set bodies.gripper.urdf=nowhere.urdf && says "nowhere.urdf" && pass "a urdf that is not there"
status 2 "$program" check "$job" --set 'bodies.gripper.loops=[{one: left, other: rihgt, at: [0, 0, 0]}]' &&
  says "no link is called \"rihgt\"" && pass "a loop of a link that is not there"
mkdir -p "$work/models" && cp jobs/convex/models/gripper.urdf "$work/models"
urdf=$work/models/gripper.urdf
wrong() { # sed command, line, expected message
  sed "$1" jobs/convex/models/gripper.urdf >"$urdf"
  status 2 "$program" check "$job" --set "bodies.gripper.urdf=$urdf"
  says "$urdf:$2:"; says "$3"; pass "$3"
}
line=$(grep -n '<limit lower="0" upper="0.5"' jobs/convex/models/gripper.urdf | cut -d: -f1)
wrong "${line}s/lower=\"0\"/lower=\"1\"/" "$line" "lower = 1 is above upper = 0.5: exchange them"
line=$(grep -n '<child link="palm"/>' jobs/convex/models/gripper.urdf | cut -d: -f1)
wrong "${line}s/palm/plam/" "$line" "link=\"plam\": there is no such link"
line=$(grep -n '<box size="0.2' jobs/convex/models/gripper.urdf | cut -d: -f1)
wrong "${line}s,<box[^>]*/>,<mesh filename=\"package://gripper/palm.stl\"/>," "$line" "there is no such file"
line=$(grep -n 'ixx="0.0008"' jobs/convex/models/gripper.urdf | cut -d: -f1)
wrong "${line}s/ixx=\"0.0008\"/ixx=\"0\"/" "$line" "a link with mass needs moments of inertia > 0 about all axes"
# A mesh file in the folder of the URDF is found and used as a shape.
line=$(grep -n '<box size="0.2' jobs/convex/models/gripper.urdf | cut -d: -f1)
cat >"$work/models/palm.obj" <<'OBJ'
v -0.1 -0.03 -0.02
v 0.1 -0.03 -0.02
v 0.1 0.03 -0.02
v -0.1 0.03 -0.02
v -0.1 -0.03 0.02
v 0.1 -0.03 0.02
v 0.1 0.03 0.02
v -0.1 0.03 0.02
f 1 4 3 2
f 5 6 7 8
f 1 2 6 5
f 2 3 7 6
f 3 4 8 7
f 4 1 5 8
OBJ
sed "${line}s,<box[^>]*/>,<mesh filename=\"package://gripper/palm.obj\"/>," jobs/convex/models/gripper.urdf >"$urdf"
status 0 "$program" check "$job" --set "bodies.gripper.urdf=$urdf" && pass "a mesh of the package"
status 0 "$program" run "$job" --set "bodies.gripper.urdf=$urdf" --out "$work/run" --no-picture --steps 3 && pass "and runs"

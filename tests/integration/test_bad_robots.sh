# Invalid articulated bodies are rejected with the line of the URDF or the job and the remedy, code 2, and nothing is written. At
# singular poses, joints with a defined motion continue and those without are reported.
. tests/integration/common.sh
cd "$work" || exit 1
job() { # FORMULATION, the lines of a body from stdin: job.yaml
  printf 'stickslip: 1\nname: robot\nformulation: %s\ntime: {end: 0.5, step: 2.0e-3}\nbodies:\n  arm:\n    kind: articulated\n' "$1" >job.yaml
  cat >>job.yaml
}
refused() { # FILE:LINE TEXT
  status 2 "$program" check job.yaml && mv out checked
  status 2 "$program" run job.yaml --out never
  cmp -s out checked || fail "run and check do not say the same of $1"
  [ ! -e never ] || fail "$1: something was written"
  grep -F "$1:" out | grep -qF -- "$2" || { cat out; fail "does not say at $1: $2"; }
  pass "$2"
}

# ---- URDF: one mistake each, in line 4 of the file ----
link() { echo "<link name=\"$1\"><inertial><origin xyz=\"0 0 0.1\"/><mass value=\"1\"/><inertia ixx=\"0.1\" iyy=\"0.1\" izz=\"0.1\"/></inertial></link>"; }
joint() { echo "<joint name=\"$1\" type=\"continuous\"><parent link=\"$2\"/><child link=\"$3\"/><axis xyz=\"0 1 0\"/></joint>"; }
wrong() { # LINE TEXT: a robot of links a, b and what this fourth line adds
  printf '<robot name="r">\n%s%s\n%s\n%s\n</robot>\n' "$(link a)" "$(link b)" "$(joint j a b)" "$1" >robot.urdf
  echo '    urdf: robot.urdf' | job exact
  refused robot.urdf:"${3:-4}" "$2"
}
shape() { echo "$(link c | sed "s,</link>,<collision><geometry>$1</geometry></collision></link>,")$(joint k b c)"; }
wrong "$(link c)$(joint k a c)$(joint l c b)" 'already has joint "j" (line 3)'
wrong "$(link c)$(link d)$(joint k d c)$(joint l c d)" "depends on itself through"
wrong "$(link c)" "a urdf has one root"
wrong "$(link c)$(joint k b nowhere)" "there is no such link"
wrong "$(link b)" "duplicates the name of the link in line 2"
wrong "$(link c | sed 's/ixx="0.1"/ixx="0"/')$(joint k b c)" "moments of inertia > 0 about all axes"
wrong "$(link c | sed 's/ixx="0.1"/ixx="1"/')$(joint k b c)" "principal moments"
wrong "$(link c | sed 's/value="1"/value="-1"/')$(joint k b c)" "expected a mass >= 0"
wrong "$(link c | sed 's/value="1"/value="nan"/')$(joint k b c)" "finite number"
wrong "$(link c)$(joint k b c | sed 's/continuous/revolute/; s,</joint>,<limit lower="1" upper="-1"/></joint>,')" \
  "lower = 1 is above upper = -1: exchange them"
wrong "$(link c)$(joint k b c | sed 's/0 1 0/0 0 0/')" "zero vector"
wrong "$(link c)$(joint k b c | sed 's/continuous/screw/')" "expected revolute, continuous"
wrong '<link name="c"/>'"$(joint k b c)" "moves no mass"
wrong "$(shape '<mesh filename="no.stl"/>')" "there is no such file"
printf 'solid x\nfacet normal 0 0 1\nouter loop\nvertex 0 0 0\n' >cut.stl
wrong "$(shape '<mesh filename="cut.stl"/>')" "ends within a facet"
wrong "$(shape '<sphere radius="-1"/>')" "must be > 0 m"
wrong '<link name="c">' "is not XML" 5

# ---- the same in a job ----
bars='    links:
      crank: {mass: 1, center_of_mass: [0.5, 0, 0]}
      rod: {mass: 1, center_of_mass: [1.5, 0, 0]}
      rocker: {mass: 1, center_of_mass: [2.5, 0, 0]}
    joints:
      a: {type: revolute, child: crank, at: [0, 0, 0], axis: [0, 1, 0], rate: 0.5}
      b: {type: revolute, parent: crank, child: rod, at: [1, 0, 0], axis: [0, 1, 0], rate: -0.5}
      c: {type: revolute, child: rocker, at: [3, 0, 0], axis: [0, 1, 0], rate: 0.5}
    loops: [{one: rod, other: rocker, at: [2, 0, 0]}]
solver: {newton: {tolerance: 1.0e-8}}'
wrong_job() { # sed COMMAND, LINE, TEXT
  echo "$bars" | sed "$1" | job exact
  refused "job.yaml:$2" "$3"
}
wrong_job 's/child: rocker, at/child: crank, at/' 15 'already has joint "a"'
wrong_job 's/parent: crank, child: rod/parent: rod, child: rod/' 14 "depends on itself"
wrong_job '/^      c:/s/type/lower: 2, upper: 1, type/' 15 "lower: 2 is above upper = 1"
wrong_job 's/, center_of_mass: \[2.5, 0, 0\]/, center_of_mass: [3, 0, 0]/' 15 "moves no mass"
wrong_job '/^      b:/s/rate/position: 1, rate/' 16 "are open by"

# ---- singular poses ----
finite() { ! grep -qiE '(^|,)-?(nan|inf)' "$1/history.csv" || fail "$1: what is no number"; }
for formulation in exact convex; do
  # Three bars and the ground in one line: they may leave it to either side, and the loop stays closed.
  { echo "$bars"; echo 'measure:'
    for l in rod rocker; do
      echo "  ${l}_x: {quantity: point, body: arm.$l, point: [2, 0, 0], direction: [1, 0, 0]}"
      echo "  ${l}_z: {quantity: point, body: arm.$l, point: [2, 0, 0], direction: [0, 0, 1]}"
    done; } | job $formulation
  status 0 "$program" run job.yaml --out bars --force --no-picture && finite bars
  for d in x z; do
    paste -d, bars/measure/rod_$d.csv bars/measure/rocker_$d.csv |
      awk -F, 'NR > 1 { e = $3 - $6; if (e * e > most) most = e * e; if ($3 != first && NR > 2) moved = 1; first = $3 } END { exit !(moved && sqrt(most) < 1e-3) }' ||
      fail "$formulation: the loop opens along $d"
  done
  pass "$formulation: bars in one line move on, their loop stays closed"
  # A ball joint that falls over, through half a turn.
  job $formulation <<'E2'
    links: {bob: {mass: 1, center_of_mass: [0, 0, 0.5], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}}
    joints: {ball: {type: ball, child: bob, at: [0, 0, 0], angular_velocity: [0, 0.01, 0]}}
solver: {newton: {tolerance: 1.0e-8}}
measure: {height: {quantity: position, body: arm.bob, direction: [0, 0, 1]}, turn: {quantity: rotation, body: arm.bob}}
E2
  status 0 "$program" run job.yaml --out bob --force --no-picture --set time.end=2 && finite bob
  awk -F, 'NR > 1 && $3 > most { most = $3 } END { exit !(most > 3.1 && most < 3.1416) }' bob/measure/turn.csv || fail "$formulation: the bob does not turn over"
  awk -F, 'NR > 1 && $3 < least { least = $3 } END { exit !(least < -0.499 && least >= -0.5) }' bob/measure/height.csv ||
    fail "$formulation: the bob does not hang on its joint"
  pass "$formulation: a ball joint goes through half a turn"
  # Rings without mass whose axes a prescribed motion lays onto each other: no rates are finite there.
  job $formulation <<'E2'
    links: {yaw: {mass: 0}, pitch: {mass: 0}, hand: {mass: 1, center_of_mass: [0, 0, 0.2], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}}
    joints:
      yaw: {type: revolute, child: yaw, at: [0, 0, 0], axis: [0, 0, 1], rate: 0.3}
      pitch: {type: revolute, parent: yaw, child: pitch, at: [0, 0, 0], axis: [0, 1, 0], motion: "t - 0.25"}
      roll: {type: revolute, parent: pitch, child: hand, at: [0, 0, 0], axis: [0, 0, 1], rate: 1}
E2
  status 4 "$program" run job.yaml --out lock --force --no-picture && finite lock
  grep -q "^step [0-9]* (t = 0.2[0-9]* s.*in body arm, joint \"\(yaw\|roll\)\"" lock/failure.txt && ls lock/checkpoints/*.h5 >ls || fail "$formulation: a gimbal that locks is not named"
  pass "$formulation: a gimbal that locks ends the run with its step, a joint and a checkpoint"
  mv job.yaml rings.yaml
  # Values that become infinite at some time are reported at their key: a target, a motion, a torque.
  for expression in 'drive: {stiffness: 10, target: "1/(t > 0.1 ? 0 : 1)"}' 'motion: "1/(t > 0.1 ? 0 : 1)"' 'drive: {force: "1/(t > 0.1 ? 0 : 1)"}'; do
    job $formulation <<E2
    links: {hand: {mass: 1, center_of_mass: [0, 0, 0.2], inertia: [0.01, 0.01, 0.01, 0, 0, 0]}}
    joints: {yaw: {type: revolute, child: hand, at: [0, 0, 0], axis: [0, 1, 0], $expression}}
E2
    status 4 "$program" run job.yaml --out infinite --force --no-picture && finite infinite
    grep -q 'an expression of time became infinite or not a number in body arm, joint "yaw"' infinite/failure.txt || fail "$formulation: $expression is not named"
  done
  pass "$formulation: targets, motions and forces that are no numbers are named with their joint"
done
sed 's/motion: "t - 0.25"/position: 0/' rings.yaml >job.yaml
refused job.yaml:10 "moves no mass"

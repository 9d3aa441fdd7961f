# until: conditions on measures end a run; stopped and resumed, it ends at the same step, bit-identical.
. tests/integration/common.sh
has() { grep -qxF -- "$2" "$1/result.yaml" || { cat "$1/result.yaml"; fail "$1 does not contain: $2"; }; }
# A block that slides on a floor and comes to rest: from 0.3 m/s, with friction 0.4, in 0.3 / (0.4 9.81) = 0.0765 s.
cat >"$work/slide.yaml" <<'YAML'
stickslip: 1
name: slide
time: {end: 1, step: 1.0e-3, frame: 0.04}
materials: {wood: {model: rigid, density: 1000}}
bodies:
  block: {kind: rigid, material: wood, shape: {box: {min: [-0.1, -0.1, 0], max: [0.1, 0.1, 0.05]}}, velocity: [0.3, 0, 0]}
  floor: {kind: static, shape: {plane: {point: [0, 0, 0], normal: [0, 0, 1]}}}
contact: {friction: 0.4, stiffness: 1.0e5}
output: {checkpoint: 0.01, checkpoint_wall: 0, keep: 1000}
measure:
  speed: {quantity: velocity, body: block, direction: [1, 0, 0]}
  way: {quantity: position, body: block, direction: [1, 0, 0], every: 0.007}
until: [{when: "speed < 1e-3", for: 0.02}]
YAML
run="$program run $work/slide.yaml --no-picture --threads 1"

status 0 $run --out "$work/whole"; says "until: speed < 1e-3 for 0.02 s"
has "$work/whole" "status: finished"; has "$work/whole" "reason: \"until: speed < 1e-3 for 0.02 s\""; has "$work/whole" "exit_code: 0"
awk -F, 'NR > 1 && $3 >= 1e-3 { since = -1 } NR > 1 && $3 < 1e-3 { if (!first) first = $2; if (since < 0) since = $2 } { last = $2 }
  END { if (!(first > 0.074 && first < 0.079)) print "at rest at " first; if ((last - since - 0.02) ^ 2 > 1e-12) print "ended " last - since " s later" }' \
  "$work/whole/measure/speed.csv" >"$work/wrong"
[ ! -s "$work/wrong" ] || fail "$(cat "$work/wrong")"
pass "ends after 0.02 s at rest"

n=0
for checkpoint in "$work"/whole/checkpoints/*.h5; do
  rm -rf "$work/part"; cp -r "$work/whole" "$work/part"
  for later in "$work"/part/checkpoints/*.h5; do [ "$(basename "$later")" \> "$(basename "$checkpoint")" ] && rm "$later"; done
  status 0 "$program" resume "$work/part" --no-picture --threads 1
  status 0 "$program" diff "$work/whole" "$work/part"
  cmp -s "$work/whole/measure/way.csv" "$work/part/measure/way.csv" || fail "way.csv differs after resuming $(basename "$checkpoint")"
  [ "$(ls "$work/whole/frames" "$work/whole/checkpoints" | grep .)" ] && [ "$(ls "$work/whole/frames")" = "$(ls "$work/part/frames")" ] || fail "frames differ"
  n=$((n + 1))
done
[ $n -ge 8 ] || fail "only $n checkpoints"
pass "resumed from each of $n checkpoints it ends at the same step, bit for bit"

status 0 "$program" resume "$work/whole" --no-picture --threads 1; says "is already finished (until: speed < 1e-3 for 0.02 s)"; says "--set until=[]"
status 0 "$program" diff "$work/whole" "$work/part"
[ "$(ls "$work/whole/frames")" = "$(ls "$work/part/frames")" ] || fail "another frame of the same step"
pass "a run ended by until stays finished; the message explains how to continue"
status 0 "$program" resume "$work/whole" --no-picture --threads 1 --set 'until=[{when: way > 1}, step >= 150]'
has "$work/whole" "status: finished"; has "$work/whole" "reason: \"until: step >= 150\""; has "$work/whole" "step: 150"
pass "with other conditions it continues"

status 0 $run --out "$work/short" --set 'until=t > 0.0295'; has "$work/short" "step: 30"
status 0 $run --out "$work/after" --set 'until=[{when: "1", after: 0.012, for: 0.003}]'; has "$work/after" "step: 15"
status 0 $run --out "$work/never" --set 'until=[way > 1]' --set time.end=0.01; has "$work/never" "reason: end of time"
pass "one expression; not before; or never"

# Records and frames stay at multiples of their interval when time.step changes.
status 0 $run --out "$work/steps" --set until=[] --set time.end=0.06 --steps 31
status 0 "$program" resume "$work/steps" --no-picture --threads 1 --set time.step=4.0e-4
got=$(cut -d, -f2 "$work/steps/measure/way.csv" | awk 'NR > 1 { printf "%s ", $1 < 0.0311 || int($1 / 0.007 + 1e-6) != int(($1 - 4e-4) / 0.007 + 1e-6) ? "ok" : $1 }')
[ "$(echo "$got" | tr -d ' ')" = okokokokokokokokok ] || { cat "$work/steps/measure/way.csv"; fail "records at other times: $got"; }
pass "every: continues when time.step changes"

wrong() { # arguments: text of until, expected message
  status 2 $run --out "$work/wrong-run" --set "until=$1"; says "$2"; [ ! -e "$work/wrong-run" ] || fail "has written files"
}
wrong 'sped < 1' 'until[0].when: no measure is called "sped"; did you mean "speed"?'
wrong '[t > 1, {when: "temperature < 1"}]' 'until[1].when: no measure is called "temperature"; give the name of an entry of measure:, t or step'
wrong '[{when: "speed <"}]' 'unexpected end'
wrong '[{wen: "speed < 1"}]' 'did you mean "when"'
wrong '[{when: "speed < 1", for: -1}]' 'until[0].for'
wrong '[[1]]' 'until[0]: expected a mapping'
status 2 $run --out "$work/wrong-run" --set measure.t.quantity=mass; says 'rename the measure'
pass "mistakes are named where they stand"

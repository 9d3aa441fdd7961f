# Files of a run that are damaged, foreign, missing or removed during the run. The state always comes from an intact checkpoint, or the
# run fails with code 3. Files that may be valid are not deleted. Tables are repaired, and missing rows are reported.
. tests/integration/common.sh
job=$here/small.yaml
export OMP_NUM_THREADS=1
run="--no-picture --quiet --set output.checkpoint=0.01" # every 5 steps of 2 ms
status 0 "$program" run "$job" --out "$work/whole" $run
status 0 "$program" run "$job" --out "$work/part" $run --steps 17 # checkpoints of 5, 10, 15 and 17
newest=checkpoints/checkpoint_000000017.h5
fresh() { rm -rf "$work/r"; cp -r "$work/part" "$work/r"; }
resume() { status "$1" "$program" resume "$work/r" --no-picture; }
ends_as_whole() {
  cp "$work/out" "$work/said"
  status 0 "$program" diff "$work/whole" "$work/r"
  cp "$work/said" "$work/out"
}
tables_are_whole() {
  [ "$(history_of "$work/whole")" = "$(history_of "$work/r")" ] || fail "$1: the history differs"
  cmp -s "$work/whole/measure/height.csv" "$work/r/measure/height.csv" || fail "$1: the measure differs"
  [ "$(ls "$work/whole/frames")" = "$(ls "$work/r/frames")" ] || fail "$1: other frames"
}
flip() { # file offset: turn over one bit
  byte=$(od -An -tu1 -j "$2" -N 1 "$1")
  printf "$(printf '\\%03o' $((byte ^ 16)))" | dd of="$1" bs=1 seek="$2" conv=notrunc 2>/dev/null
}
size_of() { wc -c <"$1"; }

# ---- checkpoints -------------------------------------------------------------------------------------------------------
n=0
for at in 0 20 511 512 4000 middle last; do
  fresh
  f=$work/r/$newest
  case $at in middle) at=$(($(size_of "$f") / 2)) ;; last) at=$(($(size_of "$f") - 1)) ;; esac
  flip "$f" "$at"
  resume 0 && says "checkpoint_000000017.h5" && says "trying an older checkpoint" && says "checkpoint_000000015.h5 at step 15"
  [ -s "$f.damaged" ] || fail "a checkpoint with a flipped bit at byte $at was not kept"
  ends_as_whole; tables_are_whole "flipped bit at byte $at"
  n=$((n + 1))
done
pass "a flipped bit in each of $n places: the checkpoint before it is taken, the damaged one kept, the end is the same"
for size in 0 100 512 5000 $(($(size_of "$work/part/$newest") - 1)); do
  fresh
  head -c "$size" "$work/part/$newest" >"$work/r/$newest"
  resume 0 && says "trying an older checkpoint"
  ends_as_whole; tables_are_whole "cut to $size bytes"
done
pass "checkpoints cut to 0, 100, 512, 5000 and all bytes but one likewise"

fresh
for f in "$work"/r/checkpoints/*.h5; do flip "$f" 3000; done
(cd "$work/r/checkpoints" && cksum ./*) >"$work/before"
resume 3 && says "all 4 checkpoints are damaged" && says "--force"
(cd "$work/r/checkpoints" && cksum ./*) | cmp -s - "$work/before" || fail "damaged checkpoints were changed by a resume that refused"
status 2 "$program" run "$job" --out "$work/r" $run && says "--force"
status 0 "$program" run "$job" --out "$work/r" $run --force
ends_as_whole && pass "all checkpoints damaged: code 3, all of them named and left alone; --force starts over"

# A good file of a format to come: its seal is right, so it is no damage.
fresh
cat >"$work/reseal.py" <<'P'
import sys
M, G = (1 << 64) - 1, 0x9e3779b97f4a7c15
turn = lambda x, n: (x << n | x >> (64 - n)) & M
step = lambda lane, w: turn((lane ^ w) * G & M, 29)
def checksum(data):
    lane = [G * (2 * i + 1) & M for i in range(4)]
    padded = data + bytes(-len(data) % 32)
    for i in range(0, len(padded), 32):
        for k in range(4): lane[k] = step(lane[k], int.from_bytes(padded[i + 8 * k:i + 8 * k + 8], "little"))
    lane[0] = step(lane[0], len(data))
    for _ in range(3):
        for i in range(4):
            lane[(i + 1) % 4] = (lane[(i + 1) % 4] + turn(lane[i], 31)) & M
            lane[i] = (lane[i] ^ lane[i] >> 32) * G & M
    return "".join("%016x" % x for x in lane)
name, f = sys.argv[1], sys.argv[2]
data = open(name, "rb").read()
lines = data[:512].rstrip(b"\0").decode().split("\n")
seal = lambda s: "\n".join([lines[0], "format " + f, lines[2], lines[3], "checksum " + s, ""]).encode().ljust(512, b"\0")
if f == "2": assert seal(checksum(seal("") + data[512:])) == data[:512]
open(name, "wb").write(seal(checksum(seal("") + data[512:])) + data[512:])
P
if command -v python3 >/dev/null; then
  python3 "$work/reseal.py" "$work/r/$newest" 2 || fail "the seal is not what the test takes it for"
  python3 "$work/reseal.py" "$work/r/$newest" 3
  (cd "$work/r/checkpoints" && cksum ./*) >"$work/before"
  resume 3 && says "has format 3" && says "use a newer stickslip" && says "move it away"
  (cd "$work/r/checkpoints" && cksum ./*) | cmp -s - "$work/before" || fail "a refused checkpoint of a newer format was touched"
  rm "$work/r/$newest"
  resume 0
  ends_as_whole && pass "a checkpoint of a newer format: code 3, left alone; moved away, the one before it goes on"
else echo "no python3 to seal a checkpoint of a newer format: that part is left to tests/unit/io/test_checkpoint_damage.c"; fi

status 0 "$program" run "$job" --out "$work/other" $run --steps 20 --set name=other
fresh
cp "$work/other/checkpoints/checkpoint_000000020.h5" "$work/r/checkpoints/"
resume 3 && says 'belongs to the job "other"' && says 'to the job "small"'
[ -e "$work/r/checkpoints/checkpoint_000000020.h5" ] || fail "another job's checkpoint was removed"
rm "$work/r/checkpoints/checkpoint_000000020.h5"
resume 0
ends_as_whole && pass "another job's checkpoint: code 3, left alone"

# Leftovers of killed writers, in every folder.
fresh
mkdir -p "$work/r/frames"
for f in checkpoints/.checkpoint_000000019.h5 frames/.frame_000009.h5 .history.csv .job.yaml .frames.xmf .result.yaml measure/.height.csv .summary.txt; do
  echo half >"$work/r/$f.tmp"
done
resume 0
ends_as_whole; tables_are_whole leftovers
[ -z "$(find "$work/r" -name '.*.tmp')" ] || fail "left: $(find "$work/r" -name '.*.tmp')"
pass "what killed writers left half written is gone after a resume"

# ---- tables ------------------------------------------------------------------------------------------------------------
fresh
head -c 3000 "$work/part/history.csv" >"$work/r/history.csv"
head -n 9 "$work/part/measure/height.csv" >"$work/r/measure/height.csv"
resume 0 && says "history.csv: rows between steps" && says "height.csv: rows between steps 7 and 17 are missing"
ends_as_whole
[ "$(tail -n 1 "$work/r/history.csv" | cut -d, -f1)" = 30 ] || fail "the cut history does not go on"
pass "tables cut short: said which rows are missing, and gone on"
fresh
rm "$work/r/history.csv" "$work/r/measure/height.csv"
resume 0 && says "history.csv: rows between steps 0 and 17 are missing" && says "height.csv: rows between"
ends_as_whole && pass "tables missing: said, begun anew"
fresh
sed -i '5s/,/;/; 9s/^/x/' "$work/r/history.csv"
sed -i '4d' "$work/r/measure/height.csv"; sed -i '6s/.*/hello/' "$work/r/measure/height.csv"
cp "$work/r/history.csv" "$work/edited"
resume 0 && says "history.csv:5: not a row" && says "nor are further rows" && says "height.csv:6: not a row"
cmp -s "$work/edited" "$work/r/history.csv.damaged" || fail "the damaged history was not kept"
[ "$(history_of "$work/whole" | sed '9d;5d')" = "$(history_of "$work/r")" ] || fail "good rows of an edited history were lost"
ends_as_whole && pass "tables edited: bad rows reported and omitted, the original file kept"
fresh
sed -i '1s/time/tome/' "$work/r/history.csv"
cp "$work/r/history.csv" "$work/edited"
resume 3 && says "history.csv:1: the columns differ" && says "move the file away"
cmp -s "$work/edited" "$work/r/history.csv" || fail "a table of other columns was changed"
pass "a table of other columns: code 3, left alone"

# ---- frames, and the job -----------------------------------------------------------------------------------------------
fresh
rm "$work/r/frames/frame_000000.h5"
resume 0; ends_as_whole
grep -q frame_000001 "$work/r/frames.xmf" && ! grep -q frame_000000 "$work/r/frames.xmf" || fail "frames.xmf does not go on without the frame"
pass "a frame that is missing: the series continues without it"
fresh
rm -r "$work/r/frames" "$work/r/frames.xmf"
resume 0; ends_as_whole && pass "all frames missing: gone on"
fresh
flip "$work/r/frames/frame_000001.h5" 2000
resume 0 && says "frame_000001.h5 is damaged" && ends_as_whole && pass "a damaged frame is reported and omitted"
fresh
rm "$work/r/job.yaml"
resume 0 && says "job.yaml is missing"
ends_as_whole; cmp -s "$work/whole/job.yaml" "$work/r/job.yaml" || fail "job.yaml did not come back"
pass "job.yaml missing: the job in the checkpoint goes on"

# Files and folders are removed during the run.
rm -rf "$work/r"
"$program" run "$job" --out "$work/r" --no-picture --set time.end=1 --set output.checkpoint=0.1 >"$work/out" 2>&1 &
pid=$!
# Between two writes: the run stands still, and nothing is half written.
while_between_writes() {
  while :; do
    kill -STOP $pid || { cat "$work/out"; fail "the run has ended"; }
    [ -z "$(find "$work/r" -name '.*.tmp')" ] && break
    kill -CONT $pid; sleep 0.01
  done
  "$@"
  kill -CONT $pid
}
while [ ! -e "$work/r/frames/frame_000009.h5" ]; do sleep 0.02; done
rm "$work/r/frames/frame_000002.h5"
while_between_writes rm -r "$work/r/frames" "$work/r/checkpoints"
while [ ! -e "$work/r/frames" ] || [ ! -e "$work/r/checkpoints" ]; do kill -0 $pid || break; sleep 0.02; done
kill -TERM $pid; wait $pid
[ $? = 75 ] || { cat "$work/out"; fail "a run whose frames and checkpoints were removed under it did not go on"; }
resume 0
status 0 "$program" run "$job" --out "$work/long" --quiet --no-picture --set time.end=1 --set output.checkpoint=0.1
status 0 "$program" diff "$work/long" "$work/r"
pass "frames and checkpoints removed under a run: the next ones come, and it resumes to the same end"

# ---- links, pipes and folders in place of files ------------------------------------------------------------------------
mkdir "$work/elsewhere"; echo precious >"$work/elsewhere/file"
kept() { [ "$(cat "$work/elsewhere/file")" = precious ] && [ "$(ls "$work/elsewhere")" = file ] || fail "$1 was written through a link"; }
for name in run.lock log.txt history.csv; do
  rm -rf "$work/r"; mkdir "$work/r"; ln -s "$work/elsewhere/file" "$work/r/$name"
  "$program" run "$job" --out "$work/r" $run --steps 1 >"$work/out" 2>&1; got=$?
  kept "$name"
  case $name in
  history.csv) [ $got = 0 ] && [ ! -L "$work/r/$name" ] || fail "a link at $name: exit $got" ;; # replaced
  *) [ $got = 3 ] || fail "a link at $name: exit $got"; says "$name" && says "it is a symbolic link" ;;
  esac
done
fresh
for name in history.csv log.txt run.lock; do
  mv "$work/r/$name" "$work/moved" 2>/dev/null
  ln -s "$work/elsewhere/file" "$work/r/$name"
  [ $name != history.csv ] || cp "$work/moved" "$work/elsewhere/file"
  resume 3 && says "$name" && says "it is a symbolic link"
  [ $name != history.csv ] || { cmp -s "$work/moved" "$work/elsewhere/file" || fail "a history outside was written"; echo precious >"$work/elsewhere/file"; }
  kept "$name"
  rm "$work/r/$name"; mv "$work/moved" "$work/r/$name" 2>/dev/null
done
for name in .history.csv.tmp .result.yaml.tmp checkpoints/.checkpoint_000000001.h5.tmp frames/.frame_000000.h5.tmp; do
  rm -rf "$work/r"; mkdir -p "$work/r/checkpoints" "$work/r/frames"; ln -s "$work/elsewhere/file" "$work/r/$name"
  status 0 "$program" run "$job" --out "$work/r" $run --steps 1
  kept "$name"
done
rm -rf "$work/r" "$work/real"; mkdir "$work/real"; ln -s "$work/real" "$work/r"
status 0 "$program" run "$job" --out "$work/r" $run --steps 1
[ -s "$work/real/history.csv" ] || fail "a run directory that is a link"
pass "output files are not written through symbolic links; the run directory may be one"
for name in run.lock log.txt history.csv job.yaml result.yaml machine.yaml checkpoints frames frames.xmf; do
  rm -rf "$work/r"; mkdir "$work/r"
  case $name in checkpoints | frames) mkfifo "$work/r/$name" ;; *) mkdir -p "$work/r/$name/inside" ;; esac
  timeout 60 "$program" run "$job" --out "$work/r" $run --steps 1 --force >"$work/out" 2>&1; got=$?
  [ $got = 3 ] || { cat "$work/out"; fail "a folder or pipe named $name: exit $got"; }
  says "$name"
done
for name in run.lock log.txt; do
  rm -rf "$work/r"; mkdir "$work/r"; mkfifo "$work/r/$name"
  status 3 timeout 60 "$program" run "$job" --out "$work/r" $run --steps 1 && says "it is a pipe, not a regular file"
done
fresh
rm "$work/r/history.csv"; mkfifo "$work/r/history.csv"
status 3 timeout 60 "$program" resume "$work/r" $run && says "history.csv" && says "it is a pipe"
pass "folders and pipes named like output files: code 3 with the name, without waiting"

# ---- the log -----------------------------------------------------------------------------------------------------------
fresh
[ "$(grep -c ': stickslip run ' "$work/r/log.txt")" = 1 ] && grep -q 'step 17/30' "$work/r/log.txt" || { cat "$work/r/log.txt"; fail "log.txt of a quiet run"; }
resume 0
[ "$(grep -cE ': stickslip (run|resume) ' "$work/r/log.txt")" = 2 ] && grep -q 'resumed from' "$work/r/log.txt" || { cat "$work/r/log.txt"; fail "resume does not append to log.txt"; }
tail -n 1 "$work/r/log.txt" | grep -q "results in" || fail "the end of log.txt"
status 0 "$program" run "$job" --out "$work/r" $run --force --steps 1
[ "$(grep -c . "$work/r/log.txt")" = 3 ] || { cat "$work/r/log.txt"; fail "log.txt of a new start contains the earlier one"; }
rm -rf "$work/r"; mkdir "$work/r"
"$program" run "$job" --out "$work/r" --no-picture --steps 2 2>"$work/r/log.txt" || fail "stderr in log.txt"
[ "$(grep -c 'results in' "$work/r/log.txt")" = 1 ] || { cat "$work/r/log.txt"; fail "lines are twice in log.txt"; }
if command -v script >/dev/null; then # a terminal
  TERM=xterm script -qec "'$program' run '$job' --out '$work/r' --no-picture --steps 2 --force" /dev/null >"$work/out" 2>&1
  grep -qE '^[0-9-]+ [0-9:]+ results in' "$work/r/log.txt" && ! grep -q "$(printf '\033')" "$work/r/log.txt" || { cat "$work/r/log.txt"; fail "log.txt of a run on a terminal"; }
fi
pass "log.txt of every run, in the format of a batch log: also quiet, on a terminal, and appended by resume"

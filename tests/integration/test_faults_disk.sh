# A full disk, a limit on the size of files, and a read-only directory: code 3, a message with the remedy, the last checkpoint intact,
# and the same final state once there is room.
. tests/integration/common.sh
job=$here/small.yaml
export OMP_NUM_THREADS=1
run="--quiet --no-picture"
status 0 "$program" run "$job" --out "$work/whole" $run
status 0 "$program" run "$job" --out "$work/part" $run --steps 5
sums() { (cd "$1/checkpoints" && cksum ./*.h5); }
# goes_on NAME DIR: what is there now ends as the whole run did
goes_on() {
  status 0 "$program" resume "$2" $run --set time.frame=0.02 --set output.checkpoint=0.01 --set output.history_every=1
  status 0 "$program" diff "$work/whole" "$2"
  [ -z "$(find "$2" -name '.*.tmp')" ] || fail "$1: left $(find "$2" -name '.*.tmp')"
  pass "$1: code 3, says what to do, and goes on to the same end"
}

# ---- a limit on the size of files, reached within the write itself: not predictable ------------------------------
# limited NAME blocks-of-512-bytes MESSAGE set...
limited() {
  name=$1 blocks=$2 message=$3; shift 3
  rm -rf "$work/r"; cp -r "$work/part" "$work/r"
  sums "$work/r" >"$work/before"
  (ulimit -f "$blocks"; exec "$program" resume "$work/r" $run "$@") >"$work/out" 2>&1; got=$?
  [ $got = 3 ] || { cat "$work/out"; fail "$name: exit $got instead of 3"; }
  says "$message" && says "File too large" && says "ulimit -f"
  sums "$work/r" | cmp -s - "$work/before" || fail "$name: other checkpoints than before"
  goes_on "the limit of a file's size, hit by $name" "$work/r"
}
limited "a checkpoint" 60 .checkpoint_ --set time.frame=0
limited "a checkpoint written in the background" 60 .checkpoint_ --set time.frame=0 --set output.checkpoint_in_background=always
limited "a frame" 60 .frame_ --set time.frame=0.002 --set output.checkpoint=0
limited "the history" 16 history.csv --set time.frame=0 --set output.checkpoint=0
limited "a measure" 16 height.csv --set time.end=2 --set time.frame=0 --set output.checkpoint=0 --set output.history_every=100000

# A log on a full disk is no reason to stop.
"$program" run "$job" --out "$work/log" --no-picture >/dev/full 2>&1; got=$?
[ $got = 0 ] || fail "a log that cannot be written stopped the run: exit $got"
status 0 "$program" diff "$work/whole" "$work/log" && pass "a log on a full disk: the run continues without it"
"$program" schema >/dev/full 2>"$work/out"; got=$?
[ $got = 3 ] && says "cannot write the output" || fail "not so: output on a full disk is code 3"
pass "output on a full disk is code 3"

# ---- a real disk, full -------------------------------------------------------------------------------------------------
mkdir "$work/disk"
if ! mount -t tmpfs -o size=3m none "$work/disk" 2>/dev/null; then
  echo "no right to mount: full and read-only file systems are not tried (needs root)"
  exit 0
fi
trap 'umount -l "$work/disk"; rm -rf "$work"' EXIT
full() { dd if=/dev/zero of="$work/disk/filler" bs=4k 2>/dev/null; sync "$work/disk/filler" 2>/dev/null; true; }

# It fills up with checkpoints of its own.
status 3 "$program" run "$job" --out "$work/disk/r" $run --set output.checkpoint=0.002
says "full" && says "MB are needed" && says "free disk space"
status 0 "$program" info "$work/disk/r"
sums "$work/disk/r" >"$work/before"
status 3 "$program" resume "$work/disk/r" $run && says "free disk space"
sums "$work/disk/r" | cmp -s - "$work/before" || fail "other checkpoints than before"
pass "a resume with the disk still full: code 3, nothing lost"
for f in $(ls "$work"/disk/r/checkpoints/*.h5 | head -n -1); do rm "$f"; done
goes_on "a disk full of checkpoints" "$work/disk/r"

# Another process fills the disk to the last block during a run. NAME MESSAGE set...
filled() {
  name=$1 message=$2; shift 2
  rm -rf "$work/disk/r" "$work/disk/filler"; cp -r "$work/part" "$work/disk/r"
  sums "$work/disk/r" >"$work/before"
  "$program" resume "$work/disk/r" --no-picture --set time.end=100 "$@" >"$work/out" 2>&1 &
  pid=$!
  until grep -q "step 6" "$work/out"; do kill -0 $pid || break; sleep 0.01; done
  kill -STOP $pid; full; kill -CONT $pid
  wait $pid; got=$?
  [ $got = 3 ] || { cat "$work/out"; fail "$name: exit $got instead of 3"; }
  # Stopped between its look at the room left and the write itself, it hears of the full disk from the write.
  grep -q "No space left on device" "$work/out" || says "$message"
  says "free disk space"
  rm "$work/disk/filler"
  # It went beyond the end of the whole run before the disk was full.
  for f in $(ls "$work"/disk/r/checkpoints/*.h5 | tail -n +2); do rm "$f"; done
  sums "$work/disk/r" | cmp -s - "$work/before" || fail "$name: other checkpoints than before"
  status 0 "$program" resume "$work/disk/r" $run --set time.end=0.06 --set time.frame=0.02 --set output.checkpoint=0.01 --set output.history_every=1
  status 0 "$program" diff "$work/whole" "$work/disk/r"
  pass "a disk filled by somebody else, noticed by $name: code 3, says what to do, and goes on to the same end"
}
filled "a checkpoint" "MB are needed" --set time.frame=0 --set output.history_every=1000000 --set measure.height.every=1000
filled "a checkpoint written in the background" "MB are needed" --set time.frame=0 --set output.history_every=1000000 --set measure.height.every=1000 --set output.checkpoint_in_background=always
filled "a frame" "MB are needed" --set output.checkpoint=0 --set output.history_every=1000000 --set measure.height.every=1000
filled "the history" "history.csv: No space left on device" --set time.frame=0 --set output.checkpoint=0 --set measure.height.every=1000
filled "a measure" "height.csv: No space left on device" --set time.frame=0 --set output.checkpoint=0 --set output.history_every=1000000

# Full from the start; then one that can only be read.
rm -rf "$work/disk/r"; full
status 3 "$program" run "$job" --out "$work/disk/new" $run && says "free disk space" && pass "a disk that is full from the start: code 3"
rm -rf "$work/disk/filler" "$work/disk/new"; cp -r "$work/part" "$work/disk/r"
mount -o remount,ro "$work/disk"
status 3 "$program" run "$job" --out "$work/disk/new" $run && says "Read-only file system" && says "make it writable"
status 3 "$program" resume "$work/disk/r" $run && says "Read-only file system" && says "make it writable"
status 0 "$program" info "$work/disk/r"
status 0 "$program" diff "$work/part" "$work/disk/r"
mount -o remount,rw "$work/disk"
goes_on "a directory that can only be read" "$work/disk/r"

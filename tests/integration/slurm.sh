# Sourced after common.sh by tests that need SLURM: starts a private SLURM below $work, or skips the test with the reason.
config=$(pwd)/config
for tool in munged slurmctld slurmd sbatch; do
  PATH=$PATH:/usr/sbin:/sbin command -v $tool >/dev/null || { echo "no $tool here: Debian's packages slurm-wlm and munge are not installed"; exit 77; }
done
export SLURM1_CPUS=8 SLURM1_CTLD_PORT=$((20000 + $$ % 10000)) SLURM1_SLURMD_PORT=$((30000 + $$ % 10000)) SLURM1_KILLWAIT=5
"$config/slurm1.sh" up "$work/slurm" >"$work/up" 2>&1 || { cat "$work/up"; echo "SLURM does not start here: $(tail -n 1 "$work/up")"; exit 77; }
trap '"$config/slurm1.sh" down "$work/slurm"; rm -rf "$work"' EXIT
eval "$("$config/slurm1.sh" env "$work/slurm")"
export STICKSLIP=$program OMP_NUM_THREADS=1

state_of() { scontrol show job "$1" | sed -n 's/^ *JobState=\([A-Z_]*\).*/\1/p' | tail -n 1; }
logs() { find "$work" -name '*.out' -o -name '*.log' | xargs tail -n 30; }
# until_ok COMMAND...: at most two minutes, on a busy machine
until_ok() { for _ in $(seq 1200); do "$@" >/dev/null 2>&1 && return 0; sleep 0.1; done; logs; fail "does not come: $*"; }
is() { [ "$(state_of "$1")" = "$2" ]; }
steps_of() { sed -n 's/^step: //p' "$1/result.yaml" 2>/dev/null; }
has_steps() { [ "$(steps_of "$1")" -ge "$2" ] 2>/dev/null; }
# At once instead of after two minutes; not within the same second, in which SLURM still revokes the credential of the job that ended
now() { until_ok is "$1" PENDING; scontrol update JobId="$1" StartTime=now+2; }
gone() { [ -z "$(squeue -h -j "$1" 2>/dev/null)" ]; }
# CANCELLED is said at once, while its process still writes
cancel() { scancel "$1"; until_ok is "$1" CANCELLED; until_ok gone "$1"; }

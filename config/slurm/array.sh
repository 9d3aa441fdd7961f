#!/bin/bash
# Many runs as one job array:   sbatch --array=1-20%4 [options] array.sh LIST
#
# Task k runs line k of LIST: a job and options of `stickslip run`, as a shell would read them, e.g.
#   dam.yaml --set contact.friction=0.3 --out run/dam-0.3
#   dam.yaml --set contact.friction=0.4 --out run/dam-0.4
# (%4: four at a time.) Each task is a chain of its own, as in chain.sh. Parameter studies are easier with `stickslip sweep`.
#SBATCH --job-name=stickslip --output=%x-%A_%a.out --open-mode=append
#SBATCH --ntasks=1 --cpus-per-task=4 --mem=8G --time=1:00:00
# --time must exceed the lead time of the signal, two minutes: `sbatch` does not check it, the program warns if the signal comes before the first step.
#SBATCH --signal=B:USR1@120 --requeue
line=$(sed -n "${SLURM_ARRAY_TASK_ID:?submit it with --array}p" "${1:?usage: sbatch --array=1-N array.sh LIST}")
[ -n "$line" ] || { echo "$1 has no line $SLURM_ARRAY_TASK_ID" >&2; exit 2; }
eval "set -- $line"
# exec: the program takes the place of this shell, so that signals reach it. No srun: it would start MPI, which is not wanted here.
# Threads, and the cores they stay on, are those of the task; nothing needs to be exported.
exec "${STICKSLIP:-stickslip}" run "$@" --requeue

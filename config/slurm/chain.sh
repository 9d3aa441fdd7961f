#!/bin/bash
# One run over as many SLURM jobs as it takes:   sbatch [options] chain.sh JOB.yaml [options of `stickslip run`]
#
# Two minutes before its time is up it writes a checkpoint and has SLURM start the job again, which goes on from there. Where the cluster does not
# let jobs be requeued, it submits one that begins when this one has ended. `scancel` ends the chain; submitted again, it goes on.
# Copy it and adapt the resources, or give others on the command line: sbatch --time=12:00:00 -c 16 chain.sh dam.yaml
#SBATCH --job-name=stickslip --output=%x-%j.out --open-mode=append
#SBATCH --ntasks=1 --cpus-per-task=4 --mem=8G --time=1:00:00
# --time must exceed the lead time of the signal, two minutes: `sbatch` does not check it, the program warns if the signal comes before the first step.
#SBATCH --signal=B:USR1@120 --requeue
# exec: the program takes the place of this shell, so that signals reach it. No srun: it would start MPI, which is not wanted here.
# Threads, and the cores they stay on, are those of the job; nothing needs to be exported.
exec "${STICKSLIP:-stickslip}" run "$@" --requeue

#!/bin/bash
# A real SLURM with one node on the loopback, for tests:  slurm1.sh up|down|env|kill-node DIR
#   up         start munged, slurmctld and slurmd, all of their state below DIR; again: start those that have died
#   down       cancel what runs, stop them
#   env        print what a shell must export to talk to it
#   kill-node  kill -9 slurmd and every job on it, as if the node had lost its power
# Needs the packages slurm-wlm and munge, no root and no configuration in /etc. Two at a time need other ports.
#   SLURM1_CPUS=16       pretend so many CPUs          SLURM1_TASK_PLUGIN=task/affinity   confine jobs to theirs
#   SLURM1_CTLD_PORT, SLURM1_SLURMD_PORT               SLURM1_KILLWAIT=10   s from SIGTERM to SIGKILL
set -u
action=${1:?usage: slurm1.sh up|down|env|kill-node DIR} dir=$(realpath -m "${2:?DIR}")
cpus=${SLURM1_CPUS:-$(getconf _NPROCESSORS_ONLN)} user=$(id -un)
export PATH=$PATH:/usr/sbin:/sbin SLURM_CONF=$dir/slurm.conf

# Does the process of this pid file live, and is it ours? Numbers are used again, and the dead may stay as zombies.
alive() {
  [ -s "$1" ] && case $(ps -o stat=,comm= -p "$(cat "$1" 2>/dev/null)" 2>/dev/null) in Z*) false ;; *munged|*slurmctld*|*slurmd*) true ;; *) false ;; esac
}
wait_until() { for _ in $(seq "$1"); do eval "$2" && return 0; sleep 0.1; done; return 1; }

write_conf() {
  cat >"$SLURM_CONF" <<C
ClusterName=one
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort=${SLURM1_CTLD_PORT:-16817}
SlurmdPort=${SLURM1_SLURMD_PORT:-16818}
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=${SLURM1_TASK_PLUGIN:-task/none}
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=1,sched_min_interval=0,bf_interval=1,batch_sched_delay=0
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/filetxt
JobCompLoc=$dir/log/completed.txt
ReturnToService=2
MinJobAge=3600
KillWait=${SLURM1_KILLWAIT:-10}
SlurmdParameters=config_overrides
MailProg=/bin/true
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/log/slurmctld.log
SlurmdLogFile=$dir/log/slurmd.log
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
NodeName=node0 NodeAddr=127.0.0.1 NodeHostname=$(hostname -s) CPUs=$cpus CoresPerSocket=$cpus RealMemory=$(awk '/MemTotal/ { print int($2 / 1024 * 0.9) }' /proc/meminfo) State=UNKNOWN
PartitionName=main Nodes=node0 Default=YES DefaultTime=10 MaxTime=INFINITE State=UP
C
}

up() {
  # SLURM looks its own host up, and hangs for minutes where that fails
  getent hosts "$(hostname)" >/dev/null || { echo "slurm1: the host name $(hostname) does not resolve; add '127.0.0.1 $(hostname)' to /etc/hosts" >&2; return 1; }
  for program in munged slurmctld slurmd sbatch ps; do command -v $program >/dev/null || { echo "slurm1: $program is not installed; install the packages slurm-wlm, munge and procps" >&2; return 1; }; done
  install -d -m 755 "$dir" "$dir/state" "$dir/spool" "$dir/log" "$dir/munge" || return 1
  [ -s "$dir/munge/key" ] || (umask 077; head -c 1024 /dev/urandom >"$dir/munge/key")
  write_conf
  # --force: the socket may lie in a folder that only we can enter
  alive "$dir/munge/pid" || munged --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
    --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" 2>"$dir/munge/start" || { cat "$dir/munge/start" >&2; return 1; }
  alive "$dir/slurmctld.pid" || slurmctld -f "$SLURM_CONF" || return 1
  alive "$dir/slurmd.pid" || slurmd -f "$SLURM_CONF" -N node0 || return 1
  wait_until 100 'case $(timeout 5 sinfo -h -n node0 -o %T 2>/dev/null) in idle|mixed|allocated) true ;; *) false ;; esac' && return 0
  echo "slurm1: the node did not start in time" >&2
  tail -qn 5 "$dir/log/slurmctld.log" "$dir/log/slurmd.log" >&2
  down
  return 1
}

down() {
  if alive "$dir/slurmctld.pid"; then # jobs would outlive slurmd
    scancel --user="$user" --state=PENDING 2>/dev/null; scancel --user="$user" 2>/dev/null
    alive "$dir/slurmd.pid" && wait_until 300 '[ -z "$(squeue -h -t R,CG 2>/dev/null)" ]'
  fi
  for file in "$dir/slurmd.pid" "$dir/slurmctld.pid" "$dir/munge/pid"; do
    alive "$file" || continue
    kill "$(cat "$file")"
    wait_until 100 "! alive '$file'" || kill -9 "$(cat "$file")"
  done
  return 0
}

# slurmd, the guards of its jobs (slurmstepd) and all that runs below them
kill_node() {
  [ -s "$dir/slurmd.pid" ] && kill -9 "$(cat "$dir/slurmd.pid")"
  for guard in $(pgrep -x slurmstepd); do
    tr '\0' '\n' 2>/dev/null <"/proc/$guard/environ" | grep -qxF "SLURM_CONF=$SLURM_CONF" || continue
    below=$guard all=
    while [ -n "$below" ]; do all="$all $below"; below=$(echo $below | tr ' ' ',' | xargs pgrep -P); done
    kill -9 $all
  done
  scontrol update NodeName=node0 State=DOWN Reason=lost # slurmctld itself would notice in SlurmdTimeout, minutes
}

case $action in
up) up ;;
down) down ;;
env) echo "export SLURM_CONF='$SLURM_CONF' PATH=\"\$PATH:/usr/sbin:/sbin\"" ;;
kill-node) kill_node ;;
*) echo "usage: slurm1.sh up|down|env|kill-node DIR" >&2; exit 2 ;;
esac

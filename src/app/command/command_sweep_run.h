/* What `sweep` shares with its actions. */
#ifndef SS_APP_COMMAND_COMMAND_SWEEP_RUN_H
#define SS_APP_COMMAND_COMMAND_SWEEP_RUN_H
#include "app/command/command.h"

/* Options of whatever runs cases on this machine; --threads is every command's. */
#define SWEEP_LOCAL_OPTIONS                                                                                                         \
  {"-j", "N", false, "cases at a time; default: resources.concurrent, or as many as the CPUs allow"},                               \
  {"--picture", NULL, false, "a still at the end of each case"},                                                                    \
  {"--fresh", NULL, false, "start the program anew for every case, instead of forking it"}

/* Options of whatever submits to SLURM. */
#define SWEEP_SLURM_OPTIONS                                                                                                         \
  {"--submit", NULL, false, "run them as a SLURM job array"},                                                                       \
  {"--script", NULL, false, "print the script that --submit would submit"},                                                         \
  {"--cores", "N", false, "for SLURM: of a case; default: resources.cores, or 1"},                                                  \
  {"--memory", "M", false, "for SLURM: of a case, e.g. 2G"},                                                                        \
  {"--time", "T", false, "for SLURM: of a task, e.g. 1:00:00; tasks that run out of it are requeued and go on"},                    \
  {"--partition", "NAME", false, "for SLURM"},                                                                                      \
  {"--account", "NAME", false, "for SLURM"},                                                                                        \
  {"--concurrent", "N", false, "for SLURM: tasks at a time"},                                                                       \
  {"--cases-per-task", "N", false, "for SLURM: cases that a task runs one after the other"},                                        \
  {"--sbatch", "OPTION", true, "for SLURM: any other option of sbatch, --sbatch=--qos=night"}
/* Does the line ask for one of the two? */
bool command_sweep_wants_slurm(const command_line *line);

/* Options that only make sense together are given together; else false, after saying so. */
bool command_sweep_options_fit(const command_line *line, exit_code *code);
/* --local: run all that is waiting or stopped in the sweep of `dir`, then gather. */
PetscErrorCode command_sweep_local(const command_line *line, const char *dir, exit_code *code);
/* --submit or --script: what is waiting or stopped in the sweep of `dir`. */
PetscErrorCode command_sweep_slurm(const command_line *line, const char *dir, exit_code *code);
#endif

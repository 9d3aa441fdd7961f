/* What `sweep` shares with its actions. */
#ifndef SS_SIM_COMMAND_SWEEP_RUN_H
#define SS_SIM_COMMAND_SWEEP_RUN_H
#include "sim/command/command.h"

/* Options of whatever runs cases on this machine; --threads is every command's. */
#define SWEEP_LOCAL_OPTIONS                                                                                                         \
  {"-j", "N", false, "cases at a time; default: resources.concurrent, or as many as the CPUs allow"},                               \
  {"--picture", NULL, false, "a still at the end of each case"},                                                                    \
  {"--fresh", NULL, false, "start the program anew for every case, instead of forking it"}

/* Options that only make sense together are given together; else false, after saying so. */
bool command_sweep_options_fit(const command_line *line, exit_code *code);
/* --local: run all that is waiting or stopped in the sweep of `dir`, then gather. */
PetscErrorCode command_sweep_local(const command_line *line, const char *dir, exit_code *code);
#endif

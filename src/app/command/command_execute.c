#include "app/command/command_execute.h"
#include <stdlib.h>
#include <string.h>
#include "core/log.h"
#include "core/process.h"
#include "core/stop.h"
#include "core/team.h"
#include "app/command/command_list.h"
#include "app/run/allocation.h"

bool command_threads(const command_line *line, int64_t *n)
{
  const char *omp = getenv("OMP_NUM_THREADS");
  allocation  given;
  allocation_read(&given);
  return command_integer(line, "--threads", 1, 4096, omp ? strtoll(omp, NULL, 10) : given.cores, n);
}

const char *command_places(const command *c, int64_t threads)
{
  allocation given;
  allocation_read(&given);
  return c == &command_run_entry || c == &command_resume_entry ? allocation_places(&given, threads) : NULL;
}

/* What a command printed is all it did: a full disk behind it must not pass for success. */
static exit_code check_output(exit_code code)
{
  int error;
  if (process_output_is_whole(&error) || code != SS_EXIT_OK) return code;
  fprintf(stderr, "stickslip: cannot write the output: %s\n", strerror(error));
  return SS_EXIT_ENVIRONMENT;
}

exit_code command_execute(const command *c, command_line *line, int64_t threads)
{
  const bool is_verbose = command_value(line, "--verbose");
  exit_code  code       = SS_EXIT_OK;
  log_open(command_value(line, "--quiet"), is_verbose);
  team_set_threads((int)threads);
  stop_install();
  line->comm                 = PETSC_COMM_SELF; /* every process is a run of its own */
  const PetscErrorCode error = c->run(line, &code);
  if (error) code = error_report(stderr, error, is_verbose);
  return check_output(code);
}

exit_code command_execute_forked(int argc, char **argv)
{
  static command_line line;
  exit_code           code;
  int                 n_petsc;
  int64_t             threads;
  char              **petsc = calloc((size_t)argc + 1, sizeof *petsc);
  if (!petsc) return SS_EXIT_ENVIRONMENT;
  const command *c = command_parse(argc, argv, &line, &n_petsc, petsc, &code);
  free(petsc);
  if (!c || !command_threads(&line, &threads)) return SS_EXIT_BAD_INPUT;
  stop_reset(); /* what the parent was asked is not for us */
  code          = command_execute(c, &line, threads);
  if (process_skips_clean_up()) return code;
  PetscBeganMPI = PETSC_FALSE; /* MPI's own thread stayed with the parent: MPI_Finalize would wait for it for ever */
  if (PetscFinalize() && code == SS_EXIT_OK) code = SS_EXIT_ENVIRONMENT;
  return code;
}

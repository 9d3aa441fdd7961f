/* main: parses the command line, sets up OpenMP, MPI and PETSc, executes the command and returns its exit code.
 * Before the libraries start, the program may execute itself again with other environment variables (restart_with_settings). */
#include <stdlib.h>
#include <unistd.h>
#include <omp.h>
#include "core/error.h"
#include "core/log.h"
#include "core/machine.h"
#include "core/memory.h"
#include "core/process.h"
#include "core/team.h"
#include "optim/optim.h"
#include "app/command/command.h"

/* A serial run needs neither network nor launcher of MPI. Without these settings Open MPI searches for them for half a second.
 * Not set if a launcher has started this process; settings of the user are kept. */
static void disable_mpi_network(void)
{
  if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK")) return;
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self", 0);
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  /* The processes of a user share one session folder; when one of them removes it, the others fail. */
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0);
}

/* The OpenMP library reads its environment variables when it is loaded. Therefore the program sets them and executes itself once
 * more. By default, waiting threads spin for about 10 ms. On a shared node this takes CPU time from working threads: with two
 * jobs on two cores a step took 40 times longer. Threads that sleep immediately are slow on free cores: waking them takes 20 us
 * (100 us on a virtual machine), so the many short loops of a solver were slower on two threads than on one. The program sets
 * 10000 spin counts, 0.35 ms (Zen 4 at 2.6 GHz, November 2026), longer than the time between two loops of a solver, if each
 * thread has a free core at program start. Otherwise it sets 1000, about 30 us: at a load of 15 on two cores, 10000 counts cost
 * 3.5 times as much time. `places`: OMP_PLACES, which binds the threads to the cores that the batch system has allocated; or
 * NULL. has_new_limits: process_has_stack has raised the limit of the stack. */
static void restart_with_settings(char **argv, int64_t threads, const char *places, bool has_new_limits)
{
  const bool sets_spins = !getenv("GOMP_SPINCOUNT") && !getenv("OMP_WAIT_POLICY");
  if (!sets_spins && !places && !has_new_limits) return;
  /* Use the resolved path; otherwise process lists show the name "exe". */
  char          path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return; /* no /proc: continue with the current settings */
  path[n]              = '\0';
  const bool has_cores = places || (threads > 0 ? threads : omp_get_num_procs()) <= machine_free_processors();
  if (sets_spins) setenv("GOMP_SPINCOUNT", has_cores ? "10000" : "1000", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 0); /* OpenBLAS would start one thread per core when it is loaded */
  if (places) {
    setenv("OMP_PLACES", places, 1);
    setenv("OMP_PROC_BIND", "close", 1);
  }
  team_leave_place(); /* otherwise all threads would share the place of this thread */
  execv(path, argv);
}

/* Options from outside the job would change results without a record. PETSc is initialised without them.
 * warns: report each source that exists. */
static void ignore_outside_options(bool warns)
{
  static const char *const variables[] = {"PETSC_OPTIONS", "PETSC_OPTIONS_YAML"}, *const files[] = {"%s/.petscrc", ".petscrc", "petscrc"};
  const char *home = getenv("HOME");
  for (int k = 0; k < 2; ++k) {
    if (!getenv(variables[k])) continue;
    if (warns) log_warn("the environment variable %s is ignored; write options of PETSc under solver.petsc in the job", variables[k]);
    unsetenv(variables[k]);
  }
  for (int k = 0; k < 3 && warns; ++k) {
    char path[4300];
    snprintf(path, sizeof path, files[k], home ? home : "");
    if ((k > 0 || home) && access(path, F_OK) == 0)
      log_warn("the file %s is ignored; write options of PETSc under solver.petsc in the job", path);
  }
}

int main(int argc, char **argv)
{
  process_secure_streams();
  static command_line line;
  exit_code           code;
  int                 petsc_argc;
  char              **petsc_argv = calloc((size_t)argc + 2, sizeof *petsc_argv);
  if (!petsc_argv) return SS_EXIT_ENVIRONMENT;
  const command *c = command_parse(argc, argv, &line, &petsc_argc, petsc_argv, &code);
  int64_t        threads;
  if (c && !command_threads(&line, &threads)) c = NULL, code = SS_EXIT_BAD_INPUT;
  if (!c) {
    free(petsc_argv);
    return (int)code;
  }
  char message[256];
  bool has_new_limits;
  if (!process_has_stack(&has_new_limits, sizeof message, message)) {
    fprintf(stderr, "stickslip: %s\n", message);
    free(petsc_argv);
    return SS_EXIT_ENVIRONMENT;
  }
  restart_with_settings(argv, threads, command_places(c, threads), has_new_limits);
  if (!process_has_room()) {
    fprintf(stderr, "stickslip: out of memory: the program needs about 200 MB more than the limit on virtual memory allows (ulimit -v)\n");
    free(petsc_argv);
    return SS_EXIT_ENVIRONMENT;
  }
  disable_mpi_network();
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  char **petsc_args        = petsc_argv;
  petsc_argv[petsc_argc++] = "-skip_petscrc";
  ignore_outside_options(command_uses_petsc(c));
  PetscErrorCode error = PetscInitialize(&petsc_argc, &petsc_args, NULL, NULL);
  if (error) return SS_EXIT_ENVIRONMENT;
  error = error_install();
  error_set_memory_counter(memory_live);
  process_ignore_signals();
  process_die_of_crashes();
  if (!error) error = optim_register_all();
  code = error ? error_report(stderr, error, false) : command_execute(c, &line, threads);
  if (process_skips_clean_up()) _exit((int)code);
  if (PetscFinalize() && code == SS_EXIT_OK) code = SS_EXIT_ENVIRONMENT;
  free(petsc_argv);
  return (int)code;
}

/* stickslip: start up, pick the command, turn what went wrong into one line and an exit code. */
#include <stdlib.h>
#include <unistd.h>
#include <omp.h>
#include "core/error.h"
#include "core/machine.h"
#include "core/process.h"
#include "core/team.h"
#include "optim/optim.h"
#include "app/command/command.h"

/* A serial run needs no network or launcher of MPI: without these OpenMPI spends half a second looking for them. Set only
 * where nobody has launched us and nobody has decided otherwise. */
static void quiet_mpi(void)
{
  if (getenv("OMPI_COMM_WORLD_SIZE") || getenv("PMIX_RANK") || getenv("PMI_RANK")) return;
  setenv("OMPI_MCA_pml", "ob1", 0);
  setenv("OMPI_MCA_btl", "self", 0);
  setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
  setenv("OMPI_MCA_orte_create_session_dirs", "0", 0); /* one folder for all of a user's processes: they fail when one that ends removes it */
}

/* What the OpenMP library reads when it is loaded, so the program starts itself again, once.
 * Threads that wait for others spin for some 10 ms by default, which on a shared node steals the time of those that still work:
 * with two jobs on two cores a step took 40 times longer. Threads that sleep at once are as bad where cores are free: waking them
 * takes 20 us, or 100 on a virtual machine, and the many short loops of a solver cost more on two threads than on one. So they spin
 * for 10000 turns, 0.35 ms (Zen 4 at 2.6 GHz, November 2026), which is more than lies between two loops of a solver, where there is
 * a core for each as the program starts, and for 30 us where others run: at a load of 15 on two cores 10000 turns cost 3.5 times as
 * much. Threads of a run stay where the batch system has put it, if it has; those cores are theirs. */
static void restart_with_settings(char **argv, int64_t threads, const char *places)
{
  const bool sets_spins = !getenv("GOMP_SPINCOUNT") && !getenv("OMP_WAIT_POLICY");
  if (!sets_spins && !places) return;
  /* By its real path, or process lists would call it "exe". */
  char          path[4096];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
  if (n <= 0) return; /* no /proc: go on as we are */
  path[n] = '\0';
  const bool has_cores = places || (threads > 0 ? threads : omp_get_num_procs()) <= machine_free_processors();
  if (sets_spins) setenv("GOMP_SPINCOUNT", has_cores ? "10000" : "1000", 1);
  setenv("OPENBLAS_NUM_THREADS", "1", 0); /* or it starts a thread a core when it is loaded */
  if (places) {
    setenv("OMP_PLACES", places, 1);
    setenv("OMP_PROC_BIND", "close", 1);
  }
  team_leave_place(); /* or all threads would share the place of this one */
  execv(path, argv);
}

int main(int argc, char **argv)
{
  process_secure_streams();
  static command_line line;
  exit_code           code;
  int                 petsc_argc;
  char              **petsc_argv = calloc((size_t)argc + 1, sizeof *petsc_argv);
  if (!petsc_argv) return SS_EXIT_ENVIRONMENT;
  const command *c = command_parse(argc, argv, &line, &petsc_argc, petsc_argv, &code);
  int64_t        threads;
  if (c && !command_threads(&line, &threads)) c = NULL, code = SS_EXIT_BAD_INPUT;
  if (!c) {
    free(petsc_argv);
    return (int)code;
  }
  restart_with_settings(argv, threads, command_places(c, threads));
  if (!process_has_room()) {
    fprintf(stderr, "stickslip: out of memory: starting needs some 200 MB more than the limit leaves (ulimit -v)\n");
    free(petsc_argv);
    return SS_EXIT_ENVIRONMENT;
  }
  quiet_mpi();
  setenv("OPENBLAS_NUM_THREADS", "1", 0);
  char         **petsc_args = petsc_argv;
  PetscErrorCode error      = PetscInitialize(&petsc_argc, &petsc_args, NULL, NULL);
  if (error) return SS_EXIT_ENVIRONMENT;
  error = error_install();
  process_ignore_signals();
  process_die_of_crashes();
  if (!error) error = optim_register_all();
  code = error ? error_report(stderr, error, false) : command_execute(c, &line, threads);
  if (process_skips_clean_up()) _exit((int)code);
  if (PetscFinalize() && code == SS_EXIT_OK) code = SS_EXIT_ENVIRONMENT;
  free(petsc_argv);
  return (int)code;
}

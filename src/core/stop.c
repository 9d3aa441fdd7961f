/* Stop requests, see stop.h. Signal handlers use only C11 atomics, clock_gettime and _exit, which are async-signal-safe. */
#include "core/stop.h"
#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>
#include <unistd.h>
#include "core/error.h"
#include "core/process.h"
#include "core/timer.h"

static atomic_int           first_signal, n_hard; /* hard: SIGTERM and SIGINT */
static atomic_int_least64_t terminated,
    last_hard; /* time of the first SIGTERM and of the last hard signal [ns], clock of timer_now; 0: none */
static double grace = STOP_GRACE, deadline = INFINITY;

static int64_t now_ns(void)
{
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t); /* timer_now's clock, and safe in a handler */
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void on_signal(int number)
{
  int           no_signal = 0;
  int_least64_t not_yet = 0, before = atomic_load(&last_hard);
  const int64_t now = now_ns();
  atomic_compare_exchange_strong(&first_signal, &no_signal, number);
  if (number != SIGTERM && number != SIGINT) return;
  if (number == SIGTERM) atomic_compare_exchange_strong(&terminated, &not_yet, now);
  if (before && 1e-9 * (double)(now - before) < STOP_TWIN) return;
  atomic_store(&last_hard, now);
  if (atomic_fetch_add(&n_hard, 1) >= 2 && number == SIGINT) _exit(SS_EXIT_REQUEUE);
}

void stop_install(void)
{
  static const int stop_signals[] = {SIGINT, SIGTERM, SIGUSR1, SIGUSR2, SIGXCPU, SIGHUP};
  struct sigaction action         = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
  sigemptyset(&action.sa_mask);
  for (size_t i = 0; i < sizeof stop_signals / sizeof *stop_signals; ++i)
    if (stop_signals[i] != SIGHUP || !process_ignores_hangup()) sigaction(stop_signals[i], &action, NULL);
}

int  stop_signal(void) { return atomic_load(&first_signal); }
void stop_set_grace(double seconds) { grace = seconds; }
void stop_set_deadline(double time) { deadline = time; }

bool stop_is_urgent(void)
{
  const int64_t since = atomic_load(&terminated);
  if (atomic_load(&n_hard) >= 2) return true;
  if (since == 0 && isinf(deadline)) return false;
  const double now = timer_now();
  return now >= deadline || (since != 0 && now - 1e-9 * (double)since >= grace);
}

void stop_reset(void)
{
  atomic_store(&first_signal, 0);
  atomic_store(&n_hard, 0);
  atomic_store(&terminated, 0);
  atomic_store(&last_hard, 0);
  grace    = STOP_GRACE;
  deadline = INFINITY;
}

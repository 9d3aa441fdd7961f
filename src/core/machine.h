/* The machine that the program runs on, for reports. */
#ifndef SS_CORE_MACHINE_H
#define SS_CORE_MACHINE_H
#include <stdint.h>

typedef struct {
  char    system[256];    /* "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm)" */
  char    processor[128]; /* "AMD EPYC 7763 64-Core Processor"; "unknown" where the system does not tell */
  int64_t n_processors;   /* that may be used by this process */
  double  memory;         /* [byte] of the whole machine; 0: unknown */
} machine;

void machine_describe(machine *m);
/* Processors of the whole machine on which nothing runs right now, this process's own among them: at least 1 where the system
 * tells, else 0. */
int64_t machine_free_processors(void);
#endif

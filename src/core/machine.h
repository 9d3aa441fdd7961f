/* Description of the machine that the program runs on, for reports and benchmarks. */
#ifndef SS_CORE_MACHINE_H
#define SS_CORE_MACHINE_H
#include <stdint.h>

typedef struct {
  char    system[256];    /* "Linux 6.1.0 x86_64, Debian GNU/Linux 12 (bookworm)" */
  char    processor[128]; /* "AMD EPYC 7763 64-Core Processor"; "unknown" if the system does not provide it */
  int64_t n_processors;   /* available to this process */
  double  memory;         /* of the whole machine [byte]; 0: unknown */
} machine;

void machine_describe(machine *m);
/* Number of processors of the whole machine that no other process uses now; at least 1. 0 if the system does not provide the number. */
int64_t machine_free_processors(void);
#endif

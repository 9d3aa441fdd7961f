/* A checkpoint written beside the computation: a forked child, to whom the kernel has given the memory as it was, writes it and ends.
 *
 * The child holds the lock of the run as its parent does, and is killed when that dies: at no time do two processes write to one run. It
 * writes as checkpoint_write() does, so that the file has the same bytes. */
#ifndef SS_IO_CHECKPOINT_BESIDE_H
#define SS_IO_CHECKPOINT_BESIDE_H
#include "io/checkpoint.h"

typedef struct checkpoint_beside checkpoint_beside;
typedef struct {
  bool    is_running, is_written; /* neither: it failed, and log_warn has said why */
  int64_t step;
  double  seconds; /* it took; if written */
} checkpoint_beside_end;

/* Is there room for a second copy of every page that this process writes to, while the child runs? `given`: [byte] of memory that all
 * processes of the job may use together; 0: no limit known beyond what the machine has. */
bool checkpoint_beside_has_room(int64_t given);
/* Start one. *out = NULL, and no error, if there can be no child. One at a time. */
PetscErrorCode checkpoint_beside_start(const char *directory, const checkpoint_head *head, const field_table *table, int keep,
                                       checkpoint_beside **out);
/* How it stands; `wait`: until it has ended. Once it is not running any more *b is NULL. */
PetscErrorCode checkpoint_beside_look(checkpoint_beside **b, bool wait, checkpoint_beside_end *end);
#endif

/* Checkpoints written in the background, while the computation continues: a forked child has a copy-on-write image of the memory, writes it with
 * checkpoint_write(), so that the file has the same bytes, and exits.
 *
 * The child shares the lock of the run with its parent and is killed when the parent dies, so that two processes never write to one run. */
#ifndef SS_IO_CHECKPOINT_BACKGROUND_H
#define SS_IO_CHECKPOINT_BACKGROUND_H
#include "io/checkpoint.h"

typedef struct checkpoint_background checkpoint_background;
typedef struct {
  bool    is_running, is_written; /* both false: it failed, and log_warn has reported the reason */
  int64_t step;
  double  seconds; /* duration, if written */
} checkpoint_background_end;

/* Whether memory suffices for a second copy of every page that this process modifies while the child runs. `given`: limit for all processes of the
 * job together [byte]; 0: only the memory of the machine. */
bool checkpoint_background_has_room(int64_t given);
/* Start a child; at most one at a time. *out = NULL, without error, if fork fails. */
PetscErrorCode checkpoint_background_start(const char *directory, const checkpoint_head *head, const field_table *table, int keep,
                                           checkpoint_background **out);
/* State of the child; `wait`: wait until it has ended. *b is set to NULL when it is no longer running. */
PetscErrorCode checkpoint_background_poll(checkpoint_background **b, bool wait, checkpoint_background_end *end);
#endif

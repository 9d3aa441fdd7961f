/* Checkpoints written by a forked child process while the computation continues. The child has a copy-on-write image of the memory, calls
 * checkpoint_write and exits; its file has the same bytes as one written by the parent.
 *
 * The child shares the lock of the run with its parent and is killed when the parent ends, so that two runs never write to one folder. */
#ifndef SS_IO_CHECKPOINT_BACKGROUND_H
#define SS_IO_CHECKPOINT_BACKGROUND_H
#include "io/checkpoint.h"

typedef struct checkpoint_background checkpoint_background;
typedef struct {
  bool    is_running, is_written; /* both false: writing failed, and log_warn has reported the reason */
  int64_t step;                   /* step of the checkpoint */
  double  seconds;                /* duration of writing, if is_written */
} checkpoint_background_end;

/* Whether the free memory suffices for a second copy of this process: while the child runs, each page that the parent modifies is copied. `given`:
 * memory limit of the batch job [byte]; 0: the memory of the machine is the only limit. */
bool checkpoint_background_has_room(int64_t given);
/* Start a child; arguments as in checkpoint_write. At most one child at a time. *out = NULL, without error, if fork fails. */
PetscErrorCode checkpoint_background_start(const char *directory, const checkpoint_head *head, const field_table *table, int keep,
                                           checkpoint_background **out);
/* Return the state of the child in *end; with `wait`, first wait until it has ended. *b is freed and set to NULL if the child has ended. */
PetscErrorCode checkpoint_background_poll(checkpoint_background **b, bool wait, checkpoint_background_end *end);
#endif

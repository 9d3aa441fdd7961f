/* Memory: counted, aligned allocations and the per-step arena. */
#ifndef SS_CORE_MEMORY_H
#define SS_CORE_MEMORY_H
#include "core/error.h"
#include <stddef.h>

enum { MEMORY_ALIGNMENT = 64 };

/* Allocate n * size bytes, zeroed, 64-byte aligned (padded to a multiple of 64); *out = NULL for n == 0. `tag` names
 * who asked, for the message when memory runs out. Fails with PETSC_ERR_MEM. Free with memory_free. */
PetscErrorCode memory_alloc(const char *tag, int64_t n, size_t size, void *out);
/* Grow or shrink to n items, keeping the first min(old, new); `out` points to the pointer. */
PetscErrorCode memory_resize(const char *tag, int64_t n, size_t size, void *out);
/* Room for at least n items, keeping what is there: nothing if *capacity is enough, else half as much again as asked for, so that
 * what grows by little and little is not moved each time. */
PetscErrorCode memory_reserve(const char *tag, int64_t n, size_t size, int64_t *capacity, void *out);
/* Free and set to NULL. Accepts NULL. `ptr` points to the pointer. */
void memory_free(void *ptr);
/* Bytes now live, and the most there ever were. Tests end by asserting that live is back to zero. */
int64_t memory_live(void);
int64_t memory_peak(void);
/* The most this process ever held of the machine's memory, libraries and all; 0 if the system does not tell. */
int64_t memory_peak_resident(void);

/* One arena per step: many small allocations, freed together. Grows by chunks; reset keeps the chunks. Not for use
 * inside a parallel region. */
typedef struct arena arena;
PetscErrorCode arena_create(size_t first_chunk, arena **out);
PetscErrorCode arena_alloc(arena *a, const char *tag, int64_t n, size_t size, void *out); /* zeroed, aligned */
void           arena_reset(arena *a);
size_t         arena_used(const arena *a);
void           arena_destroy(arena **a);
#endif

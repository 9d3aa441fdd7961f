/* Memory: counted, aligned, zeroed allocations, and an arena for temporary arrays.
 *
 * Every module allocates with memory_alloc and frees with memory_free, so that memory_live counts all bytes and an out-of-memory message contains the
 * name of the request. */
#ifndef SS_CORE_MEMORY_H
#define SS_CORE_MEMORY_H
#include "core/error.h"
#include <stddef.h>

enum { MEMORY_ALIGNMENT = 64 };

/* Allocate n * size bytes, zeroed, 64-byte aligned (padded to a multiple of 64); *out = NULL for n == 0. `tag` names the request in the
 * out-of-memory message. Fails with PETSC_ERR_MEM. Free with memory_free. */
PetscErrorCode memory_alloc(const char *tag, int64_t n, size_t size, void *out);
/* Grow or shrink to n items; the first min(old, new) items are kept, new items are zero. `out` points to the pointer. */
PetscErrorCode memory_resize(const char *tag, int64_t n, size_t size, void *out);
/* Ensure that *out has room for at least n items; existing items are kept. If *capacity < n, the new capacity is 1.5 n, so that an array that grows in
 * small increments is rarely moved; otherwise nothing changes. */
PetscErrorCode memory_reserve(const char *tag, int64_t n, size_t size, int64_t *capacity, void *out);
/* Allocate n items as memory_alloc and copy them from `from`; NULL: zeros. */
PetscErrorCode memory_copy(const char *tag, int64_t n, size_t size, const void *from, void *out);
/* Free and set to NULL. Accepts NULL. `ptr` points to the pointer. */
void memory_free(void *ptr);

/* One array of a list: `out` points to its pointer. */
typedef struct {
  void       *out;
  int64_t     n; /* items */
  size_t      size;
  const char *name; /* in the out-of-memory message, after the tag */
} memory_array;

/* The array `pointer` with n items of its type. */
#define ARRAY(pointer, n) ((memory_array){&(pointer), (n), sizeof *(pointer), #pointer})
/* Lists of arrays, in order. Fails at the first array without memory: the arrays before it are allocated, those after it are unchanged.
 *   PetscCall(MEMORY_ALLOC("links", ARRAY(t->parent, n), ARRAY(t->axis, 3 * n)));
 *   PetscCall(MEMORY_RESERVE("pairs", n, &c->capacity, ARRAY(c->point, 1), ARRAY(c->force, 3)));
 *   MEMORY_FREE(&t->parent, &t->axis);
 * MEMORY_RESERVE ensures room for at least n rows in arrays that share one capacity; the n of ARRAY is then the number of items per row. */
#define MEMORY_ALLOC(tag, ...) memory_alloc_list(tag, MEMORY_LIST(memory_array, __VA_ARGS__))
#define MEMORY_RESIZE(tag, ...) memory_resize_list(tag, MEMORY_LIST(memory_array, __VA_ARGS__))
#define MEMORY_RESERVE(tag, n, capacity, ...) memory_reserve_list(tag, n, capacity, MEMORY_LIST(memory_array, __VA_ARGS__))
#define MEMORY_FREE(...) memory_free_list(MEMORY_LIST(void *, __VA_ARGS__))
#define MEMORY_LIST(type, ...)                                                                                                             \
  (int)(sizeof((type[]){__VA_ARGS__}) / sizeof(type)), (type[]) { __VA_ARGS__ }
PetscErrorCode memory_alloc_list(const char *tag, int n_arrays, const memory_array *array);
PetscErrorCode memory_resize_list(const char *tag, int n_arrays, const memory_array *array);
PetscErrorCode memory_reserve_list(const char *tag, int64_t n, int64_t *capacity, int n_arrays, const memory_array *array);
void           memory_free_list(int n_arrays, void *const *ptr);

/* Bytes allocated by memory_alloc now, and their maximum since the start. Each test ends by asserting that memory_live is zero. */
int64_t memory_live(void);
int64_t memory_peak(void);
/* Maximum resident set size of this process in bytes, libraries included; 0 if the system does not provide it. */
int64_t memory_peak_resident(void);

/* Arena: many small allocations that are released together, for example at the end of a step. It grows by chunks, the first of `first_chunk` bytes.
 * arena_reset releases all allocations and keeps the chunks. Call from serial code only. */
typedef struct arena arena;
PetscErrorCode       arena_create(size_t first_chunk, arena **out);
PetscErrorCode       arena_alloc(arena *a, const char *tag, int64_t n, size_t size, void *out); /* zeroed, aligned */
#define ARENA_ALLOC(a, tag, ...) arena_alloc_list(a, tag, MEMORY_LIST(memory_array, __VA_ARGS__))
PetscErrorCode arena_alloc_list(arena *a, const char *tag, int n_arrays, const memory_array *array);
void           arena_reset(arena *a);
size_t         arena_used(const arena *a); /* bytes allocated since the last reset */
void           arena_destroy(arena **a);
#endif

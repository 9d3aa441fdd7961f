/* Memory, see memory.h. A header before each block stores its size. The counters are atomic, so that threads may allocate. */
#include "core/memory.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* Header directly in front of each block. `raw` is the pointer returned by calloc. */
typedef struct {
  void    *raw;
  size_t   n_bytes;
  uint64_t magic;
} block_header;

static const uint64_t BLOCK_LIVE = 0x5354494b534c4950u, BLOCK_FREED = 0xdeadbeefdeadbeefu;

static int64_t live_bytes, peak_bytes;

static void count_bytes(int64_t change)
{
  const int64_t now  = __atomic_add_fetch(&live_bytes, change, __ATOMIC_RELAXED);
  int64_t       peak = __atomic_load_n(&peak_bytes, __ATOMIC_RELAXED);
  while (now > peak && !__atomic_compare_exchange_n(&peak_bytes, &peak, now, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {}
}

int64_t memory_live(void) { return __atomic_load_n(&live_bytes, __ATOMIC_RELAXED); }
int64_t memory_peak(void) { return __atomic_load_n(&peak_bytes, __ATOMIC_RELAXED); }

int64_t memory_peak_resident(void)
{
  struct rusage u;
  return getrusage(RUSAGE_SELF, &u) ? 0 : (int64_t)u.ru_maxrss * 1024;
}

/* Bytes of n items, padded to the alignment; false if they exceed half the address space. */
static bool padded_bytes(int64_t n, size_t size, size_t *bytes)
{
  size_t product;
  if (n < 0 || __builtin_mul_overflow((size_t)n, size, &product) || product > (size_t)PTRDIFF_MAX / 2) return false;
  *bytes = (product + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
  return true;
}

static block_header *header_of(void *p)
{
  block_header *h = (block_header *)p - 1;
  SS_ASSERT(h->magic == BLOCK_LIVE);
  return h;
}

/* calloc instead of aligned_alloc and memset: large blocks are then untouched zero pages, and each page is placed in the memory of the NUMA node
 * whose thread writes to it first. */
static void *block_create(size_t bytes)
{
  char *raw = (char *)calloc(1, bytes + sizeof(block_header) + MEMORY_ALIGNMENT);
  if (!raw) return NULL;
  const uintptr_t start   = (uintptr_t)raw + sizeof(block_header);
  char           *p       = raw + ((start + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT - (uintptr_t)raw);
  ((block_header *)p)[-1] = (block_header){.raw = raw, .n_bytes = bytes, .magic = BLOCK_LIVE};
  count_bytes((int64_t)bytes);
  return p;
}

static void block_destroy(void *p)
{
  block_header *h = header_of(p);
  h->magic        = BLOCK_FREED;
  count_bytes(-(int64_t)h->n_bytes);
  free(h->raw);
}

static PetscErrorCode report_out_of_memory(const char *tag, const memory_array *a)
{
  char mib[32];
  snprintf(mib, sizeof mib, "%.1f", (double)memory_live() / 1048576.0); /* PETSc formats %f differently */
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM,
          "out of memory: %s%s%s requested %" PRId64 " x %zu bytes with %s MiB in use; use a smaller scene or a larger machine", tag,
          a->name ? ": " : "", a->name ? a->name : "", a->n, a->size, mib);
}

static PetscErrorCode allocate(const char *tag, const memory_array *a)
{
  size_t bytes;
  void  *p = NULL;
  memcpy(a->out, &p, sizeof p);
  if (!padded_bytes(a->n, a->size, &bytes)) return report_out_of_memory(tag, a);
  if (bytes == 0) return PETSC_SUCCESS;
  p = block_create(bytes);
  if (!p) return report_out_of_memory(tag, a);
  memcpy(a->out, &p, sizeof p);
  return PETSC_SUCCESS;
}

static PetscErrorCode resize(const char *tag, const memory_array *a)
{
  size_t bytes;
  void  *old, *p = NULL;
  memcpy(&old, a->out, sizeof old);
  if (!old) return allocate(tag, a);
  if (!padded_bytes(a->n, a->size, &bytes)) return report_out_of_memory(tag, a);
  const size_t old_bytes = header_of(old)->n_bytes, wanted = (size_t)a->n * a->size;
  if (bytes == old_bytes) { /* same block; the tail beyond n is cleared so that growing again shows zeros */
    memset((char *)old + wanted, 0, bytes - wanted);
    return PETSC_SUCCESS;
  }
  if (bytes > 0) {
    p = block_create(bytes);
    if (!p) return report_out_of_memory(tag, a);
    memcpy(p, old, wanted < old_bytes ? wanted : old_bytes);
  }
  block_destroy(old);
  memcpy(a->out, &p, sizeof p);
  return PETSC_SUCCESS;
}

PetscErrorCode memory_alloc(const char *tag, int64_t n, size_t size, void *out)
{
  return allocate(tag, &(memory_array){out, n, size, NULL});
}

PetscErrorCode memory_copy(const char *tag, int64_t n, size_t size, const void *from, void *out)
{
  void *p;
  PetscCall(memory_alloc(tag, n, size, out));
  memcpy(&p, out, sizeof p);
  if (from && n > 0) memcpy(p, from, (size_t)n * size);
  return PETSC_SUCCESS;
}

PetscErrorCode memory_resize(const char *tag, int64_t n, size_t size, void *out)
{
  return resize(tag, &(memory_array){out, n, size, NULL});
}

PetscErrorCode memory_reserve(const char *tag, int64_t n, size_t size, int64_t *capacity, void *out)
{
  return memory_reserve_list(tag, n, capacity, 1, &(memory_array){out, 1, size, NULL});
}

PetscErrorCode memory_alloc_list(const char *tag, int n_arrays, const memory_array *array)
{
  for (int i = 0; i < n_arrays; ++i) PetscCall(allocate(tag, &array[i]));
  return PETSC_SUCCESS;
}

PetscErrorCode memory_resize_list(const char *tag, int n_arrays, const memory_array *array)
{
  for (int i = 0; i < n_arrays; ++i) PetscCall(resize(tag, &array[i]));
  return PETSC_SUCCESS;
}

PetscErrorCode memory_reserve_list(const char *tag, int64_t n, int64_t *capacity, int n_arrays, const memory_array *array)
{
  if (n <= *capacity) return PETSC_SUCCESS;
  const int64_t rows = n <= INT64_MAX / 2 ? n + n / 2 : n;
  for (int i = 0; i < n_arrays; ++i) {
    memory_array a = array[i];
    if (__builtin_mul_overflow(rows, array[i].n, &a.n)) a.n = -1; /* reported as out of memory */
    PetscCall(resize(tag, &a));
  }
  *capacity = rows;
  return PETSC_SUCCESS;
}

void memory_free_list(int n_arrays, void *const *ptr)
{
  for (int i = 0; i < n_arrays; ++i) memory_free(ptr[i]);
}

void memory_free(void *ptr)
{
  void *p, *none = NULL;
  memcpy(&p, ptr, sizeof p);
  if (p) block_destroy(p);
  memcpy(ptr, &none, sizeof none);
}

/* ---- arena ---- */

typedef struct arena_chunk arena_chunk;
struct arena_chunk {
  arena_chunk *next;
  char        *data;
  size_t       size, used;
  size_t       n_dirty; /* bytes that may differ from zero */
};

struct arena {
  arena_chunk *head, *current; /* chunks before current are full, those after it are empty */
  size_t       next_size;      /* of the next chunk: they double */
};

static PetscErrorCode chunk_create(const char *tag, size_t size, arena_chunk **out)
{
  arena_chunk *c;
  PetscCall(memory_alloc("arena chunk", 1, sizeof *c, &c));
  const PetscErrorCode code = memory_alloc(tag, (int64_t)size, 1, &c->data);
  if (code) memory_free(&c);
  PetscCall(code);
  c->size = size;
  *out    = c;
  return PETSC_SUCCESS;
}

PetscErrorCode arena_create(size_t first_chunk, arena **out)
{
  arena *a;
  *out = NULL;
  PetscCall(memory_alloc("arena", 1, sizeof *a, &a));
  a->next_size = first_chunk < 4096 ? 4096 : (first_chunk + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT;
  *out         = a;
  return PETSC_SUCCESS;
}

static PetscErrorCode allocate_in_arena(arena *a, const char *tag, const memory_array *array)
{
  size_t bytes;
  void  *p = NULL;
  memcpy(array->out, &p, sizeof p);
  if (!padded_bytes(array->n, array->size, &bytes)) return report_out_of_memory(tag, array);
  if (bytes == 0) return PETSC_SUCCESS;
  arena_chunk *c = a->current, *previous = NULL;
  for (; c && c->size - c->used < bytes; c = c->next) previous = c;
  if (!c) {
    size_t chunk_size = a->next_size;
    while (chunk_size < bytes) chunk_size *= 2;
    PetscCall(chunk_create(tag, chunk_size, &c));
    a->next_size = 2 * chunk_size;
    if (previous) previous->next = c;
    else a->head = c;
  }
  a->current  = c;
  char *block = c->data + c->used;
  if (c->used < c->n_dirty) memset(block, 0, bytes < c->n_dirty - c->used ? bytes : c->n_dirty - c->used);
  c->used += bytes;
  if (c->n_dirty < c->used) c->n_dirty = c->used;
  p = block;
  memcpy(array->out, &p, sizeof p);
  return PETSC_SUCCESS;
}

PetscErrorCode arena_alloc(arena *a, const char *tag, int64_t n, size_t size, void *out)
{
  return allocate_in_arena(a, tag, &(memory_array){out, n, size, NULL});
}

PetscErrorCode arena_alloc_list(arena *a, const char *tag, int n_arrays, const memory_array *array)
{
  for (int i = 0; i < n_arrays; ++i) PetscCall(allocate_in_arena(a, tag, &array[i]));
  return PETSC_SUCCESS;
}

void arena_reset(arena *a)
{
  for (arena_chunk *c = a->head; c; c = c->next) c->used = 0;
  a->current = a->head;
}

size_t arena_used(const arena *a)
{
  size_t used = 0;
  for (const arena_chunk *c = a->head; c; c = c->next) used += c->used;
  return used;
}

void arena_destroy(arena **a)
{
  if (!*a) return;
  for (arena_chunk *c = (*a)->head; c;) {
    arena_chunk *next = c->next;
    memory_free(&c->data);
    memory_free(&c);
    c = next;
  }
  memory_free(a);
}

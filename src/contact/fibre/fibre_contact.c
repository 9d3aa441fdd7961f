#include "contact/fibre/fibre_contact_internal.h"
#include "core/math3.h"
#include "core/memory.h"
#include <string.h>

enum { CHUNK = 256, SERIAL_LIMIT = 512 };

/* ---- creation ---- */

void fibre_contact_destroy(fibre_contact **out)
{
  if (!out || !*out) return;
  fibre_contact *c = *out;
  memory_free(&c->segment);
  memory_free(&c->strand);
  memory_free(&c->body);
  memory_free(&c->previous);
  memory_free(&c->next);
  memory_free(&c->radius);
  memory_free(&c->arc);
  memory_free(&c->turn);
  memory_free(&c->flags);
  memory_free(&c->spot);
  memory_free(&c->start);
  memory_free(&c->item);
  broad_phase_destroy(&c->broad);
  memory_free(out);
}

static PetscErrorCode allocate(int64_t n, fibre_contact *c)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("fibre contacts", 2 * n, sizeof *c->segment, &c->segment));
  PetscCall(memory_alloc("fibre contacts", n, sizeof *c->strand, &c->strand));
  PetscCall(memory_alloc("fibre contacts", n, sizeof *c->body, &c->body));
  PetscCall(memory_alloc("fibre contacts", n, sizeof *c->previous, &c->previous));
  PetscCall(memory_alloc("fibre contacts", n, sizeof *c->next, &c->next));
  PetscCall(memory_alloc("fibre contacts", n, sizeof *c->radius, &c->radius));
  PetscCall(memory_alloc("fibre contacts", n + 1, sizeof *c->arc, &c->arc));
  PetscCall(memory_alloc("fibre contacts", n, sizeof *c->turn, &c->turn));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Who follows whom. */
static void link_segments(fibre_contact *c)
{
  const int64_t n = c->n_segments;
  for (int64_t i = 0; i < n; ++i) c->previous[i] = c->next[i] = -1;
  for (int64_t first = 0, end; first < n; first = end) {
    for (end = first + 1; end < n && c->strand[end] == c->strand[first] && c->body[end] == c->body[first]; ++end)
      c->next[end - 1] = (int32_t)end, c->previous[end] = (int32_t)(end - 1);
    if (end - first < 3 || c->segment[2 * end - 1] != c->segment[2 * first]) continue;
    c->next[end - 1]   = (int32_t)first;
    c->previous[first] = (int32_t)(end - 1);
  }
}

static PetscErrorCode create_broad_phase(const fibre_set *set, fibre_contact *c)
{
  int32_t       *body;
  PetscErrorCode code;
  PetscFunctionBegin;
  PetscCall(memory_alloc("fibre contacts", set->n_nodes, sizeof *body, &body));
  for (int64_t i = 0; i < 2 * c->n_segments; ++i) body[c->segment[i]] = c->body[i / 2];
  const broad_phase_surfaces edges = {.n_vertices = set->n_nodes,
                                      .n_edges    = c->n_segments,
                                      .edge       = c->segment,
                                      .n_bodies   = set->n_bodies,
                                      .body       = body,
                                      .meets      = set->meets};
  code                             = broad_phase_create(&edges, &c->broad);
  memory_free(&body);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode fill(const fibre_set *set, fibre_contact *c)
{
  const int64_t n = set->n_segments;
  PetscFunctionBegin;
  PetscCheck(n >= 0 && n <= INT32_MAX / 4 && set->n_nodes >= 0 && set->n_nodes <= INT32_MAX && set->n_bodies >= 1, PETSC_COMM_SELF,
             PETSC_ERR_ARG_OUTOFRANGE, "%lld segments of fibres with %lld nodes cannot be searched", (long long)n,
             (long long)set->n_nodes);
  c->n_segments = n, c->n_nodes = set->n_nodes;
  PetscCall(allocate(n, c));
  for (int64_t i = 0; i < n; ++i) {
    const int32_t *v = set->segment + 2 * i, b = set->body[i];
    PetscCheck(v[0] >= 0 && v[0] < set->n_nodes && v[1] >= 0 && v[1] < set->n_nodes && v[0] != v[1], PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "segment %lld: no nodes %d, %d among %lld", (long long)i, (int)v[0], (int)v[1],
               (long long)set->n_nodes);
    PetscCheck(b >= 0 && b < set->n_bodies, PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE, "segment %lld: no body %d among %d",
               (long long)i, (int)b, (int)set->n_bodies);
    PetscCheck(set->radius[i] > 0.0 && isfinite(set->radius[i]), PETSC_COMM_SELF, PETSC_ERR_ARG_OUTOFRANGE,
               "segment %lld: a radius must be a number > 0", (long long)i);
    PetscCheck(i == 0 || set->strand[i] != set->strand[i - 1] || b != set->body[i - 1] || v[0] == v[-1], PETSC_COMM_SELF,
               PETSC_ERR_ARG_OUTOFRANGE, "segment %lld does not begin where the one before it ends", (long long)i);
    c->segment[2 * i] = v[0], c->segment[2 * i + 1] = v[1];
    c->strand[i] = set->strand[i], c->body[i] = b, c->radius[i] = set->radius[i];
    c->thickest = fmax(c->thickest, set->radius[i]);
  }
  link_segments(c);
  PetscCall(create_broad_phase(set, c));
  /* From here on strands are numbers of rows: bodies may number theirs alike. */
  for (int64_t i = 0, row = 0; i < n; ++i) c->strand[i] = (int32_t)(i > 0 && c->next[i - 1] != i ? ++row : row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_contact_create(const fibre_set *set, fibre_contact **out)
{
  fibre_contact *c = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("fibre contacts", 1, sizeof *c, &c));
  const PetscErrorCode code = fill(set, c);
  if (code) fibre_contact_destroy(&c);
  PetscCall(code);
  *out = c;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- search ---- */

static void measure(fibre_contact *c, const double *x)
{
  const int64_t n = c->n_segments;
  for (int64_t i = 0, first = 0; i < n; ++i) {
    double e[3];
    v3_sub(e, x + 3 * (int64_t)c->segment[2 * i + 1], x + 3 * (int64_t)c->segment[2 * i]);
    c->arc[i + 1] = c->arc[i] + v3_norm(e);
    if (i + 1 < n && c->next[i] == i + 1) continue;
    for (int64_t k = first; k <= i; ++k) c->turn[k] = c->next[i] < 0 ? INFINITY : c->arc[i + 1] - c->arc[first];
    first = i + 1;
  }
}

int fibre_spot_compare(const fibre_spot *a, const fibre_spot *b)
{
  for (int k = 0; k < 2; ++k)
    if (a->segment[k] != b->segment[k]) return a->segment[k] < b->segment[k] ? -1 : 1;
  for (int k = 0; k < 2; ++k)
    if (a->feature[k] != b->feature[k]) return a->feature[k] < b->feature[k] ? -1 : 1;
  return (int)a->is_swept - (int)b->is_swept;
}

/* Write the spots of all pairs, in their order; a chunk of pairs knows where its own begin. */
static PetscErrorCode collect(fibre_contact *c, int64_t n, const broad_phase_pair *pair)
{
  const uint8_t *const flags    = c->flags;
  const int64_t        n_chunks = (n + CHUNK - 1) / CHUNK;
  int64_t              total    = 0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("fibre contacts", n_chunks, sizeof *c->start, &c->start_capacity, &c->start));
  for (int64_t k = 0; k < n; ++k) {
    if (k % CHUNK == 0) c->start[k / CHUNK] = total;
    total += __builtin_popcount(flags[k]);
  }
  PetscCall(memory_reserve("fibre contacts", total, sizeof *c->spot, &c->spot_capacity, &c->spot));
  c->n_spots = total;
#pragma omp parallel for schedule(dynamic, 1) if (n > SERIAL_LIMIT)
  for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
    const int64_t end  = (chunk + 1) * CHUNK < n ? (chunk + 1) * CHUNK : n;
    fibre_spot   *spot = c->spot + c->start[chunk];
    for (int64_t k = chunk * CHUNK; k < end; ++k)
      if (flags[k]) spot += fibre_pair_spots(c, pair[k].first, pair[k].second, flags[k], spot);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode run(fibre_contact *c, const double *x0, const double *x1, double margin, const bool *moves, int64_t *bad)
{
  int64_t                 n_pairs;
  const broad_phase_pair *pair;
  PetscFunctionBegin;
  PetscCall(broad_phase_update(c->broad, x0, x1 ? x1 : x0, margin + 2.0 * c->thickest, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  c->x0 = x0, c->x1 = x1, c->margin = margin;
  measure(c, x0);
  PetscCall(broad_phase_edge_edge(c->broad, &n_pairs, &pair));
  PetscCall(memory_reserve("fibre contacts", n_pairs, sizeof *c->flags, &c->pair_capacity, &c->flags));
  uint8_t *const flags = c->flags;
#pragma omp parallel for schedule(dynamic, CHUNK) if (n_pairs > SERIAL_LIMIT)
  for (int64_t k = 0; k < n_pairs; ++k) {
    const int32_t i = pair[k].first, j = pair[k].second;
    flags[k] = !moves ? fibre_pair_flags(c, i, j) : moves[i] || moves[j] ? fibre_pair_swept(c, i, j) : 0;
  }
  PetscCall(collect(c, n_pairs, pair));
  PetscCall(fibre_contact_thin(c));
  c->x0 = c->x1 = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_contact_run(fibre_contact *c, const double *x0, const double *x1, double margin, int64_t *n,
                                 const fibre_spot **out, int64_t *bad)
{
  PetscFunctionBegin;
  PetscCall(run(c, x0, x1, margin, NULL, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  *n   = c->n_spots;
  *out = c->spot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_contact_run_again(fibre_contact *c, const double *x0, const double *x1, double margin, const bool *moves,
                                       int64_t n_found, const fibre_spot *found, int64_t *n, const fibre_spot **out, int64_t *bad)
{
  PetscFunctionBegin;
  PetscCall(run(c, x0, x1, margin, moves, bad));
  if (*bad >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  fibre_contact_drop_near(c, n_found, found);
  *n   = c->n_spots;
  *out = c->spot;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Sums of contact forces and torques per rigid body, see wrenches.h. */
#include "contact/rows/wrenches.h"
#include "core/memory.h"

struct contact_wrenches {
  int          n_listed; /* number of frames with unknowns */
  int64_t      n_sides, n_chunks;
  int64_t      frame_capacity, side_capacity, chunk_capacity;
  int32_t     *listed;      /* [n_listed] these frames */
  int32_t     *place;       /* [n_frames] index in `listed`, or -1 */
  int64_t     *start;       /* [n_listed + 1] first side of each frame */
  int64_t     *chunk_start; /* [n_listed + 1] first chunk of each frame */
  wrench_side *side;        /* [n_sides] ascending by pair within a frame */
  int32_t     *chunk_frame; /* [n_chunks] index in `listed` */
  double      *partial;     /* [n_chunks][WRENCH_MAX_SUMS] */
};

PetscErrorCode contact_wrenches_create(contact_wrenches **out)
{
  PetscFunctionBeginUser;
  PetscCall(memory_alloc("contact wrenches", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_wrenches_destroy(contact_wrenches **w)
{
  if (!w || !*w) return;
  MEMORY_FREE(&(*w)->listed, &(*w)->place, &(*w)->start, &(*w)->chunk_start, &(*w)->side, &(*w)->chunk_frame, &(*w)->partial, w);
}

static PetscErrorCode list_frames(contact_wrenches *w, int n_frames, const rigid_frame *frames)
{
  PetscFunctionBeginUser;
  PetscCall(MEMORY_RESERVE("wrenches", n_frames + 2, &w->frame_capacity, ARRAY(w->listed, 1), ARRAY(w->place, 1), ARRAY(w->start, 1),
                           ARRAY(w->chunk_start, 1)));
  w->n_listed = 0;
  for (int i = 0; i < n_frames; ++i) {
    w->place[i] = frames[i].block >= 0 ? w->n_listed : -1;
    if (frames[i].block >= 0) w->listed[w->n_listed++] = i;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode cut_into_chunks(contact_wrenches *w)
{
  PetscFunctionBeginUser;
  w->n_chunks       = 0;
  w->chunk_start[0] = 0;
  for (int f = 0; f < w->n_listed; ++f) {
    w->n_chunks += (w->start[f + 1] - w->start[f] + WRENCH_CHUNK - 1) / WRENCH_CHUNK;
    w->chunk_start[f + 1] = w->n_chunks;
  }
  PetscCall(MEMORY_RESERVE("wrenches", w->n_chunks, &w->chunk_capacity, ARRAY(w->chunk_frame, 1), ARRAY(w->partial, WRENCH_MAX_SUMS)));
  for (int f = 0; f < w->n_listed; ++f)
    for (int64_t c = w->chunk_start[f]; c < w->chunk_start[f + 1]; ++c) w->chunk_frame[c] = f;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_wrenches_build(contact_wrenches *w, int64_t n, const int32_t *source, const int32_t *object, int n_frames,
                                      const rigid_frame *frames)
{
  PetscFunctionBeginUser;
  PetscCall(list_frames(w, n_frames, frames));
  int64_t *const start = w->start;
  for (int f = 0; f <= w->n_listed + 1; ++f) start[f] = 0;
  /* Counting sort; start[f + 2] counts frame f, then start[f + 1] is where it is being filled. */
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < n; ++i) {
      const int at[2] = {source[i] >= 0 ? w->place[source[i]] : -1, object[i] >= 0 ? w->place[object[i]] : -1};
      for (int side = 0; side < 2; ++side) {
        if (at[side] < 0) continue;
        if (pass == 0) ++start[at[side] + 2];
        else w->side[start[at[side] + 1]++] = (wrench_side){(int32_t)i, (int8_t)side};
      }
    }
    if (pass == 1) break;
    for (int f = 0; f < w->n_listed; ++f) start[f + 2] += start[f + 1];
    w->n_sides = start[w->n_listed + 1];
    PetscCall(memory_reserve("wrench sides", w->n_sides, sizeof *w->side, &w->side_capacity, &w->side));
  }
  PetscCall(cut_into_chunks(w));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void contact_wrenches_sum(const contact_wrenches *w, int n_sums, const void *context, wrench_term term, wrench_done done, double *out)
{
  SS_ASSERT(n_sums <= WRENCH_MAX_SUMS);
  const int64_t n_chunks = w->n_chunks;
#pragma omp parallel for schedule(static) if (n_chunks > 1 && w->n_sides > CONTACT_SERIAL)
  for (int64_t c = 0; c < n_chunks; ++c) {
    const int     f                    = w->chunk_frame[c];
    const int64_t lo                   = w->start[f] + (c - w->chunk_start[f]) * WRENCH_CHUNK;
    const int64_t hi                   = lo + WRENCH_CHUNK < w->start[f + 1] ? lo + WRENCH_CHUNK : w->start[f + 1];
    double        sum[WRENCH_MAX_SUMS] = {0.0};
    term(context, w->side + lo, hi - lo, sum);
    for (int k = 0; k < n_sums; ++k) w->partial[c * WRENCH_MAX_SUMS + k] = sum[k];
  }
  for (int f = 0; f < w->n_listed; ++f) {
    double sum[WRENCH_MAX_SUMS] = {0.0};
    for (int64_t c = w->chunk_start[f]; c < w->chunk_start[f + 1]; ++c)
      for (int k = 0; k < n_sums; ++k) sum[k] += w->partial[c * WRENCH_MAX_SUMS + k];
    if (w->start[f + 1] > w->start[f]) done(context, w->listed[f], sum, out);
  }
}

#include "contact/fibre/fibre_past.h"
#include "core/math3.h"
#include "core/memory.h"

void fibre_past_clear(fibre_past *p)
{
  void *arrays[] = {&p->spot, &p->segment, &p->feature, &p->at, &p->axis, &p->normal, &p->gap};
  for (size_t k = 0; k < sizeof arrays / sizeof *arrays; ++k) memory_free(arrays[k]);
}

static PetscErrorCode reserve(fibre_past *p, int64_t n)
{
  PetscFunctionBeginUser;
  if (n <= p->capacity) PetscFunctionReturn(PETSC_SUCCESS);
  const int64_t m = n + n / 2;
  PetscCall(memory_resize("fibre contacts", 2 * m, sizeof *p->segment, &p->segment));
  PetscCall(memory_resize("fibre contacts", 3 * m, sizeof *p->feature, &p->feature));
  PetscCall(memory_resize("fibre contacts", 2 * m, sizeof *p->at, &p->at));
  PetscCall(memory_resize("fibre contacts", 6 * m, sizeof *p->axis, &p->axis));
  PetscCall(memory_resize("fibre contacts", 3 * m, sizeof *p->normal, &p->normal));
  PetscCall(memory_resize("fibre contacts", m, sizeof *p->gap, &p->gap));
  p->capacity = m;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What the arrays say, as spots. */
static PetscErrorCode read_spots(fibre_past *p)
{
  PetscFunctionBeginUser;
  PetscCall(memory_reserve("fibre contacts", p->n, sizeof *p->spot, &p->spot_capacity, &p->spot));
  for (int64_t i = 0; i < p->n; ++i) {
    fibre_spot *s = &p->spot[i];
    *s            = (fibre_spot){.is_swept = p->feature[3 * i + 2] != 0, .gap = p->gap[i]};
    for (int k = 0; k < 2; ++k) {
      s->segment[k] = p->segment[2 * i + k];
      s->feature[k] = p->feature[3 * i + k];
      s->at[k]      = p->at[2 * i + k];
      v3_copy(s->axis[k], p->axis + 6 * i + 3 * k);
    }
    v3_copy(s->normal, p->normal + 3 * i);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_past_set(fibre_past *p, int64_t n, const fibre_spot *spot)
{
  PetscFunctionBeginUser;
  PetscCall(reserve(p, n));
  for (int64_t i = 0; i < n; ++i) {
    const fibre_spot *s   = &spot[i];
    p->feature[3 * i + 2] = s->is_swept;
    p->gap[i]             = s->gap;
    for (int k = 0; k < 2; ++k) {
      p->segment[2 * i + k] = s->segment[k];
      p->feature[3 * i + k] = s->feature[k];
      p->at[2 * i + k]      = s->at[k];
      v3_copy(p->axis + 6 * i + 3 * k, s->axis[k]);
    }
    v3_copy(p->normal + 3 * i, s->normal);
  }
  p->n = n;
  PetscCall(read_spots(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- state ----------------------------------------------------------------------------------------------------------- */

static PetscErrorCode resize(void *context, int64_t n_rows)
{
  fibre_past *p = context;
  PetscFunctionBeginUser;
  PetscCall(reserve(p, n_rows));
  p->n = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A file is not trusted: what is found is looked up by segments, in order. */
static PetscErrorCode restored(void *context)
{
  fibre_past *p = context;
  PetscFunctionBeginUser;
  for (int64_t i = 0; i < p->n; ++i) {
    bool is_sound = isfinite(p->gap[i]) && isfinite(v3_norm(p->normal + 3 * i)) && p->feature[3 * i] <= FIBRE_LAST &&
                    p->feature[3 * i + 1] <= FIBRE_LAST && isfinite(v3_norm(p->axis + 6 * i) + v3_norm(p->axis + 6 * i + 3));
    for (int k = 0; k < 2; ++k)
      is_sound = is_sound && p->segment[2 * i + k] >= 0 && p->segment[2 * i + k] < p->n_segments && p->at[2 * i + k] >= 0.0 &&
                 p->at[2 * i + k] <= 1.0;
    if (i > 0)
      is_sound = is_sound && (p->segment[2 * i - 2] < p->segment[2 * i] ||
                              (p->segment[2 * i - 2] == p->segment[2 * i] && p->segment[2 * i - 1] <= p->segment[2 * i + 1]));
    PetscCheck(is_sound, PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "contact/fibres: row %lld is no contact of this job's fibres, or out of order", (long long)i);
  }
  PetscCall(read_spots(p));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode fibre_past_fields(fibre_past *p, field_table *table)
{
  field_group *group;
  PetscFunctionBeginUser;
  PetscCall(field_table_add_group(table, "contact/fibres", FIELD_GROUP_PLAIN, &p->n, p, &group));
  group->resize   = resize;
  group->restored = restored;
  PetscCall(field_table_add(table, group, "segment", "1", FIELD_I32, 2, &p->segment, FIELD_CHECKPOINT, "of all fibres"));
  PetscCall(field_table_add(table, group, "feature", "1", FIELD_U8, 3, &p->feature, FIELD_CHECKPOINT,
                            "inside, first or last vertex; found on the way"));
  PetscCall(field_table_add(table, group, "at", "1", FIELD_F64, 2, &p->at, FIELD_CHECKPOINT, "place along the segments"));
  PetscCall(field_table_add(table, group, "axis", "m", FIELD_F64, 6, &p->axis, FIELD_CHECKPOINT, "points on both axes"));
  PetscCall(
      field_table_add(table, group, "normal", "1", FIELD_F64, 3, &p->normal, FIELD_CHECKPOINT, "from the second to the first"));
  PetscCall(field_table_add(table, group, "gap", "m", FIELD_F64, 1, &p->gap, FIELD_CHECKPOINT, "between the surfaces"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

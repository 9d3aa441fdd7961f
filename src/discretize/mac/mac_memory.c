/* Implementation of mac_memory.h: warm start of pressure, stress and multipliers. */
#include "discretize/mac/mac_memory.h"
#include "core/memory.h"

PetscErrorCode mac_memory_create(mac_memory **out)
{
  PetscFunctionBegin;
  PetscCall(memory_alloc("memory of pressure and stress", 1, sizeof **out, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_memory_destroy(mac_memory **m)
{
  if (!*m) return;
  MEMORY_FREE(&(*m)->key, &(*m)->pressure, &(*m)->stress, &(*m)->multiplier, m);
}

/* Ascends with the slot on any grid of one box; a table has less than 2^31 blocks. */
static uint64_t key_of_slot(const mac_grid *g, int64_t slot)
{
  const int32_t *b     = g->block[slot / MAC_BLOCK];
  const uint64_t block = ((uint64_t)b[0] * (uint64_t)g->n_table[1] + (uint64_t)b[1]) * (uint64_t)g->n_table[2] + (uint64_t)b[2];
  return block * MAC_BLOCK + (uint64_t)(slot % MAC_BLOCK);
}

static PetscErrorCode mac_memory_resize(void *context, int64_t n_rows)
{
  mac_memory *m = context;
  PetscFunctionBegin;
  PetscCall(MEMORY_RESERVE("pressure and stress of the last step", n_rows, &m->capacity, ARRAY(m->key, 1), ARRAY(m->pressure, 1),
                           ARRAY(m->stress, MAC_STRESSES), ARRAY(m->multiplier, 1)));
  m->n = n_rows;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void mac_memory_initial_guess(const mac_memory *m, const mac_grid *g, const mac_system *y, double *p, double *s, double *multiplier)
{
  int64_t row = 0; /* both lists ascend */
  for (int64_t i = 0; i < y->n_cells; ++i) {
    const uint64_t key = key_of_slot(g, y->cell_slot[i]);
    while (row < m->n && m->key[row] < key) ++row;
    const bool is_known = row < m->n && m->key[row] == key;
    if (p) p[i] = is_known ? m->pressure[row] : 0.0;
    if (multiplier) multiplier[i] = is_known ? m->multiplier[row] : 0.0;
  }
  row = 0;
  for (int64_t i = 0; s && i < y->n_stress; ++i) {
    const uint64_t key = key_of_slot(g, y->stress_slot[i]);
    while (row < m->n && m->key[row] < key) ++row;
    s[i] = row < m->n && m->key[row] == key ? m->stress[MAC_STRESSES * row + y->component[i]] : 0.0;
  }
}

PetscErrorCode mac_memory_store(mac_memory *m, const mac_grid *g, const mac_system *y, const double *p, const double *s,
                                const double *multiplier)
{
  int64_t n = 0, cell = 0, sample = 0;
  PetscFunctionBegin;
  PetscCall(mac_memory_resize(m, y->n_cells + y->n_stress));
  while (cell < y->n_cells || sample < y->n_stress) {
    const int64_t at_cell   = cell < y->n_cells ? y->cell_slot[cell] : INT64_MAX,
                  at_sample = sample < y->n_stress ? y->stress_slot[sample] : INT64_MAX;
    const int64_t slot      = at_cell < at_sample ? at_cell : at_sample;
    m->key[n]               = key_of_slot(g, slot);
    m->pressure[n]          = at_cell == slot ? p[cell] : 0.0;
    m->multiplier[n]        = at_cell == slot && multiplier ? multiplier[cell] : 0.0;
    cell += at_cell == slot;
    for (int k = 0; k < MAC_STRESSES; ++k) m->stress[MAC_STRESSES * n + k] = 0.0;
    for (; sample < y->n_stress && y->stress_slot[sample] == slot; ++sample) m->stress[MAC_STRESSES * n + y->component[sample]] = s[sample];
    ++n;
  }
  m->n = n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode mac_memory_restored(void *context)
{
  const mac_memory *m = context;
  PetscFunctionBegin;
  for (int64_t i = 1; i < m->n; ++i)
    PetscCheck(m->key[i - 1] < m->key[i], PETSC_COMM_SELF, PETSC_ERR_FILE_UNEXPECTED,
               "mac/memory: cells %" PRId64 " and %" PRId64 " are out of order; the checkpoint is damaged", i - 1, i);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_memory_fields(mac_memory *m, field_table *table)
{
  field_group *group;
  PetscFunctionBegin;
  PetscCall(field_table_add_group(table, "mac/memory", FIELD_GROUP_PLAIN, &m->n, m, &group));
  group->resize   = mac_memory_resize;
  group->restored = mac_memory_restored;
  PetscCall(field_table_add(table, group, "cell", "1", FIELD_U64, 1, &m->key, FIELD_CHECKPOINT, "grid cell: 64 block + index in it"));
  PetscCall(field_table_add(table, group, "pressure", "Pa", FIELD_F64, 1, &m->pressure, FIELD_CHECKPOINT, "pressure in the last step"));
  PetscCall(field_table_add(table, group, "stress", "Pa", FIELD_F64, MAC_STRESSES, &m->stress, FIELD_CHECKPOINT,
                            "deviatoric, in mac.expert.basis"));
  PetscCall(field_table_add(table, group, "multiplier", "W", FIELD_F64, 1, &m->multiplier, FIELD_CHECKPOINT, "of the friction cone"));
  PetscFunctionReturn(PETSC_SUCCESS);
}

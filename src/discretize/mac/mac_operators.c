/* Rows of G and D, and the unknown faces' velocity, mobility and weight. */
#include "core/memory.h"
#include "discretize/mac/mac_system_internal.h"
#include "discretize/mac/mac_velocity.h"
#include <math.h>

/* Normal parts of the first two components of each basis. */
static const double normal_part[2][2][3] = {
  [MAC_ORTHONORMAL] = {{0.70710678118654752, 0.0, -0.70710678118654752}, {0.40824829046386302, -0.81649658092772603, 0.40824829046386302}},
  [MAC_COMPONENTS]  = {{1.0, -1.0, 0.0}, {0.0, -1.0, 1.0}}};
static inline double shear_part(int basis) { return basis == MAC_ORTHONORMAL ? 0.70710678118654752 : 1.0; }

void mac_stress_tensor(int basis, const double c[MAC_STRESSES], double s[6])
{
  for (int a = 0; a < 3; ++a) s[a] = normal_part[basis][0][a] * c[0] + normal_part[basis][1][a] * c[1];
  for (int m = 2; m < MAC_STRESSES; ++m) s[m + 1] = shear_part(basis) * c[m];
}

static inline void add(mac_row *row, int64_t slot, int axis, double value)
{
  if (slot >= 0 && value != 0.0) row->entry[row->n++] = (mac_entry){slot, axis, value};
}

void mac_row_of_pressure(const mac_assembly *c, const mac_place *at, mac_row *row)
{
  const double value = c->y->weights.cell_liquid[at->slot] / c->g->h;
  row->n = 0;
  for (int a = 0; a < 3; ++a) add(row, at->slot, a, value);
  for (int a = 0; a < 3; ++a) add(row, at->tile[at->place + mac_step[a]], a, -value);
}

static void row_of_normal_stress(const mac_assembly *c, const mac_place *at, int component, mac_row *row)
{
  const double *part = normal_part[c->o->basis][component], weight = c->y->normal_weight[at->slot] / c->g->h;
  for (int a = 0; a < 3; ++a) {
    add(row, at->slot, a, -part[a] * weight);
    add(row, at->tile[at->place + mac_step[a]], a, part[a] * weight);
  }
}

/* Shear stress between axes a and b at the lower edge of a cell pushes faces of normal a on either side in b, and the other way round. */
static void row_of_edge(const mac_place *at, int a, int b, double value, mac_row *row)
{
  add(row, at->slot, a, value);
  add(row, at->tile[at->place - mac_step[b]], a, -value);
  add(row, at->slot, b, value);
  add(row, at->tile[at->place - mac_step[a]], b, -value);
}

/* Carried to the four edges of the cell; what the two edges of a face do cancels where they weigh the same. */
static void row_of_shear(const mac_place *at, int a, int b, const double *edge, double value, mac_row *row)
{
  double on_a[2][3] = {{0.0}}, on_b[3][2] = {{0.0}}; /* faces by their cell's offset: 0, 1 along their normal, -1, 0, 1 across */
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) {
      const int64_t slot = at->tile[at->place + i * mac_step[a] + j * mac_step[b]];
      const double  t    = slot >= 0 ? value * edge[slot] : 0.0;
      on_a[i][j + 1] += t, on_a[i][j] -= t;
      on_b[i + 1][j] += t, on_b[i][j] -= t;
    }
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j) {
      add(row, at->tile[at->place + i * mac_step[a] + (j - 1) * mac_step[b]], a, on_a[i][j]);
      add(row, at->tile[at->place + (j - 1) * mac_step[a] + i * mac_step[b]], b, on_b[j][i]);
    }
}

void mac_row_of_stress(const mac_assembly *c, const mac_place *at, int component, mac_row *row)
{
  row->n = 0;
  if (component < 2) {
    row_of_normal_stress(c, at, component, row);
    return;
  }
  const int     axis = mac_component_axis(component), a = (axis + 1) % 3, b = (axis + 2) % 3;
  const double *edge = c->y->edge_weight[axis], value = shear_part(c->o->basis) / c->g->h;
  if (c->o->arrangement == MAC_STAGGERED) row_of_edge(at, a, b, value * edge[at->slot], row);
  else row_of_shear(at, a, b, edge, value * mac_edge_share(c, at->slot), row);
}

/* The entries of a row on unknown faces, ascending; a face that is met twice (a period of less than three cells) gets the sum. */
static int put_row(const mac_system *y, const mac_row *row, int32_t *restrict col, double *restrict value)
{
  int n = 0;
  for (int q = 0; q < row->n; ++q) {
    const int32_t face = y->face_of[row->entry[q].axis][row->entry[q].slot];
    int           at   = n;
    if (face < 0) continue;
    while (at > 0 && col[at - 1] >= face) --at;
    if (at < n && col[at] == face) {
      value[at] += row->entry[q].value;
      continue;
    }
    for (int m = n++; m > at; --m) col[m] = col[m - 1], value[m] = value[m - 1];
    col[at] = face, value[at] = row->entry[q].value;
  }
  return n;
}

static int count_row(const mac_system *y, bool may_repeat, const mac_row *row)
{
  int32_t col[MAC_ROW];
  double  value[MAC_ROW];
  int     n = 0;
  if (may_repeat) return put_row(y, row, col, value);
  for (int q = 0; q < row->n; ++q) n += y->face_of[row->entry[q].axis][row->entry[q].slot] >= 0;
  return n;
}

static PetscErrorCode reserve_rows(int64_t n_rows, int64_t n_cols, sparse_rows *m)
{
  PetscFunctionBegin;
  sparse_rows_destroy(m);
  m->n_rows = n_rows, m->n_cols = n_cols;
  PetscCall(memory_alloc("operator's rows", n_rows + 1, sizeof *m->start, &m->start));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows of samples that are sorted by slot: `slots` [n], `component` NULL for pressure. */
static PetscErrorCode assemble_rows(const mac_assembly *c, int64_t n, const int64_t *slots, const uint8_t *component, sparse_rows *m)
{
  bool may_repeat = false;
  PetscFunctionBegin;
  PetscCall(reserve_rows(n, c->y->n_faces, m));
  for (int a = 0; a < 3; ++a) may_repeat = may_repeat || (mac_grid_is_periodic(c->g, a) && c->g->n[a] < 3);
  for (int pass = 0; pass < 2; ++pass) {
    #pragma omp parallel
    {
      int64_t tile[MAC_TILE], block = -1;
      mac_row row;
      #pragma omp for schedule(static)
      for (int64_t i = 0; i < n; ++i) {
        if (slots[i] / MAC_BLOCK != block) block = slots[i] / MAC_BLOCK, mac_grid_tile(c->g, block, tile);
        const mac_place at = {slots[i], tile, mac_grid_tile_place((int)(slots[i] % MAC_BLOCK))};
        if (component) mac_row_of_stress(c, &at, component[i], &row);
        else mac_row_of_pressure(c, &at, &row);
        if (pass) put_row(c->y, &row, m->col + m->start[i], m->value + m->start[i]);
        else m->start[i + 1] = count_row(c->y, may_repeat, &row);
      }
    }
    if (pass) break;
    for (int64_t i = 0; i < n; ++i) m->start[i + 1] += m->start[i];
    PetscCall(memory_alloc("operator's columns", m->start[n], sizeof *m->col, &m->col));
    PetscCall(memory_alloc("operator's values", m->start[n], sizeof *m->value, &m->value));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Mean rest density of the cells next to a face, or else of all around; `otherwise` where there is none. */
static double rest_density_of_face(const mac_assembly *c, const int64_t *tile, int place, int axis, double otherwise)
{
  double sum = 0.0;
  int    n = 0;
  for (int q = 0; q < 2; ++q) {
    const int64_t cell = tile[place - q * mac_step[axis]];
    if (cell >= 0 && c->s->rest_density[cell] > 0.0) sum += c->s->rest_density[cell], ++n;
  }
  for (int q = 0; q < 27 && !(sum > 0.0); ++q) {
    const int64_t cell = tile[place + (q / 9 - 1) * 36 + (q / 3 % 3 - 1) * 6 + q % 3 - 1];
    if (cell >= 0 && c->s->rest_density[cell] > 0.0) sum += c->s->rest_density[cell], ++n;
  }
  return n ? sum / n : otherwise;
}

static void put_face(const mac_assembly *c, int64_t f, const int64_t *tile, double otherwise)
{
  static const double least_open = 0.1;
  mac_system         *y = c->y;
  const int64_t       slot = y->face_slot[f];
  const int           axis = y->face_axis[f], place = mac_grid_tile_place((int)(slot % MAC_BLOCK));
  const double        h3 = c->g->h * c->g->h * c->g->h, rest = rest_density_of_face(c, tile, place, axis, otherwise),
               open = y->weights.face_open[axis][slot], least = c->o->density_floor * rest,
               filled = y->weights.face_liquid[axis][slot];
  double density = c->is_area ? rest : c->s->mass[axis][slot] / (h3 * (open > least_open ? open : least_open));
  if (density < least) density = least;
  y->u[f]        = c->s->u[axis][slot];
  y->mobility[f] = y->dt / (density * (filled > c->o->face_fill ? filled : c->o->face_fill));
  y->weight[f]   = h3 * y->weights.face_fluid[axis][slot];
}

static PetscErrorCode put_faces(mac_assembly *c)
{
  mac_system *y = c->y;
  double      otherwise = 0.0;
  PetscFunctionBegin;
  PetscCall(memory_reserve("face velocities", y->n_faces, sizeof *y->u, &y->capacity[21], &y->u));
  PetscCall(memory_reserve("face mobilities", y->n_faces, sizeof *y->mobility, &y->capacity[22], &y->mobility));
  PetscCall(memory_reserve("face weights", y->n_faces, sizeof *y->weight, &y->capacity[23], &y->weight));
  for (int64_t i = 0; i < y->n_cells; ++i)
    if (y->rest_density[i] > otherwise) otherwise = y->rest_density[i];
  #pragma omp parallel
  {
    int64_t tile[MAC_TILE], block = -1;
    #pragma omp for schedule(static)
    for (int64_t f = 0; f < y->n_faces; ++f) {
      if (y->face_slot[f] / MAC_BLOCK != block) block = y->face_slot[f] / MAC_BLOCK, mac_grid_tile(c->g, block, tile);
      put_face(c, f, tile, otherwise);
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_operators_assemble(mac_assembly *c)
{
  mac_system *y = c->y;
  PetscFunctionBegin;
  PetscCall(put_faces(c));
  PetscCall(assemble_rows(c, y->n_cells, y->cell_slot, NULL, &y->G));
  PetscCall(assemble_rows(c, y->n_stress, y->stress_slot, y->component, &y->D));
  sparse_rows_destroy(&y->GT), sparse_rows_destroy(&y->DT);
  PetscCall(sparse_rows_transposed(&y->G, &y->GT));
  PetscCall(sparse_rows_transposed(&y->D, &y->DT));
  PetscFunctionReturn(PETSC_SUCCESS);
}

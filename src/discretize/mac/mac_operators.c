/* Rows of G and D, and the unknown faces' velocity, mobility and weight. */
#include <omp.h>
#include "core/memory.h"
#include "core/team.h"
#include "discretize/mac/mac_system_internal.h"
#include <math.h>
#include <string.h>

/* Normal parts of the first two components of each basis. */
static const double  normal_part[2][2][3] = {[MAC_ORTHONORMAL] = {{0.70710678118654752, 0.0, -0.70710678118654752},
                                                                  {0.40824829046386302, -0.81649658092772603, 0.40824829046386302}},
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

/* Shear stress between axes a and b at the lower edge of a cell pushes faces of normal a on either side in b, and the other way
 * round. */
static void row_of_edge(const mac_place *at, int a, int b, double value, mac_row *row)
{
  add(row, at->slot, a, value);
  add(row, at->tile[at->place - mac_step[b]], a, -value);
  add(row, at->slot, b, value);
  add(row, at->tile[at->place - mac_step[a]], b, -value);
}

/* Carried to the four edges of the cell: on the faces between two edges what these do cancels where they weigh the same. One
 * product each, so that nothing is fused and the same is found from the faces' side. */
static void row_of_shear(const mac_place *at, int a, int b, const double *edge, double value, mac_row *row)
{
  double e[2][2]; /* 0, 1 along a and b */
  for (int q = 0; q < 4; ++q) {
    const int64_t slot = at->tile[at->place + (q >> 1) * mac_step[a] + (q & 1) * mac_step[b]];
    e[q >> 1][q & 1] = slot >= 0 ? edge[slot] : 0.0;
  }
  for (int i = 0; i < 2; ++i) { /* lower and upper face along the normal; cells before, here and after across it */
    const int on_a = at->place + i * mac_step[a], on_b = at->place + i * mac_step[b];
    add(row, at->tile[on_a - mac_step[b]], a, -value * e[i][0]);
    add(row, at->tile[on_a], a, value * (e[i][0] - e[i][1]));
    add(row, at->tile[on_a + mac_step[b]], a, value * e[i][1]);
    add(row, at->tile[on_b - mac_step[a]], b, -value * e[0][i]);
    add(row, at->tile[on_b], b, value * (e[0][i] - e[1][i]));
    add(row, at->tile[on_b + mac_step[a]], b, value * e[1][i]);
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
  else row_of_shear(at, a, b, edge, value, row);
}

/* Into ascending order; a column that is met twice (a period of less than three cells) gets the sum. */
static inline int insert(int32_t *restrict col, double *restrict value, int n, int32_t at_col, double here)
{
  int at = n;
  while (at > 0 && col[at - 1] >= at_col) --at;
  if (at < n && col[at] == at_col) {
    value[at] += here;
    return n;
  }
  for (int m = n; m > at; --m) col[m] = col[m - 1], value[m] = value[m - 1];
  col[at] = at_col, value[at] = here;
  return n + 1;
}

static int put_row(const mac_system *y, const mac_row *row, int32_t *restrict col, double *restrict value)
{
  int n = 0;
  for (int q = 0; q < row->n; ++q) {
    const int32_t face = y->face_of[row->entry[q].axis][row->entry[q].slot];
    if (face >= 0) n = insert(col, value, n, face, row->entry[q].value);
  }
  return n;
}

static int write_pressure(const mac_assembly *c, const mac_place *at, int64_t i, int32_t *col, double *value)
{
  mac_row row;
  (void)i;
  mac_row_of_pressure(c, at, &row);
  return put_row(c->y, &row, col, value);
}
static int write_stress(const mac_assembly *c, const mac_place *at, int64_t i, int32_t *col, double *value)
{
  mac_row row;
  mac_row_of_stress(c, at, c->y->component[i], &row);
  return put_row(c->y, &row, col, value);
}

/* Rows of the transposes, from the faces' side: the same products in the same order, so that they are transposes to the bit. */
static int write_face_pressure(const mac_assembly *c, const mac_place *at, int64_t f, int32_t *col, double *value)
{
  const mac_system *y = c->y;
  const int64_t     side[2] = {at->tile[at->place - mac_step[y->face_axis[f]]], at->slot};
  int               n = 0;
  for (int q = 0; q < 2; ++q) {
    if (side[q] < 0 || y->cell_of[side[q]] < 0) continue;
    const double weight = y->weights.cell_liquid[side[q]] / c->g->h;
    if (weight != 0.0) n = insert(col, value, n, y->cell_of[side[q]], q ? weight : -weight);
  }
  return n;
}
/* One cell of a face's row of stresses: the face is in row r along b seen from the cell, -1, 0 or 1; edges along o on either
 * side of it. */
static int put_cell_stress(const mac_assembly *c, int64_t cell, int component, int r, const double edge[2], double per_h,
                           int32_t *col, double *value, int n)
{
  const double here = per_h * (r < 0 ? edge[0] : r > 0 ? -edge[1] : edge[0] - edge[1]);
  return here != 0.0 ? insert(col, value, n, MAC_STRESSES * c->y->cell_of[cell] + component, here) : n;
}
static int write_face_stress(const mac_assembly *c, const mac_place *at, int64_t f, int32_t *col, double *value)
{
  const mac_system *y = c->y;
  const int         a = y->face_axis[f];
  const double      per_h = shear_part(c->o->basis) / c->g->h;
  double            edge[3][2]; /* by their axis: at the face's place, and on its other side */
  int               n = 0;
  for (int o = 0; o < 3; ++o) {
    const int64_t above = o == a ? -1 : at->tile[at->place + mac_step[3 - a - o]];
    edge[o][0] = o == a ? 0.0 : y->edge_weight[o][at->slot], edge[o][1] = above >= 0 ? y->edge_weight[o][above] : 0.0;
  }
  /* cells in the order of their offsets, which is nearly that of their numbers */
  const int first = a == 0 ? 1 : 0, second = a == 2 ? 1 : 2,
            near[5][3] = {{-1, first, second}, {-1, second, first}, {0, 0, 0}, {1, second, first}, {1, first, second}};
  for (int q = 0; q < 2; ++q)
    for (int m = 0; m < 5; ++m) {
      const int     r = near[m][0], b = near[m][1], o = near[m][2];
      const int64_t cell = at->tile[at->place - (q ? 0 : mac_step[a]) + r * mac_step[b]];
      if (cell < 0 || y->cell_of[cell] < 0) continue;
      if (r) {
        n = put_cell_stress(c, cell, 4 - o, r, edge[o], per_h, col, value, n);
        continue;
      }
      const double weight = y->normal_weight[cell] / c->g->h;
      for (int k = 0; k < 2; ++k) {
        const double here = (q ? -weight : weight) * normal_part[c->o->basis][k][a];
        if (here != 0.0) n = insert(col, value, n, MAC_STRESSES * y->cell_of[cell] + k, here);
      }
      n = put_cell_stress(c, cell, 4 - second, 0, edge[second], per_h, col, value, n);
      n = put_cell_stress(c, cell, 4 - first, 0, edge[first], per_h, col, value, n);
    }
  return n;
}

typedef int (*row_writer)(const mac_assembly *c, const mac_place *at, int64_t i, int32_t *col, double *value);

/* One matrix to be: rows of samples that are sorted by slot, at most `most` entries to each. */
typedef struct {
  int64_t        n, n_cols;
  const int64_t *slots;
  int            most;
  row_writer     write;
  sparse_rows   *to;
} row_job;
enum { MAX_JOBS = 4, MAX_ENTRIES = 16 };

/* The arrays of the matrix serve again, their room is capacity[0 ... 2]. */
static PetscErrorCode reserve_rows(const row_job *j, int64_t *capacity)
{
  PetscFunctionBegin;
  j->to->n_rows = j->n, j->to->n_cols = j->n_cols;
  PetscCall(memory_reserve("operator's rows", j->n + 1, sizeof *j->to->start, &capacity[0], &j->to->start));
  PetscCall(memory_reserve("operator's columns", j->n * j->most, sizeof *j->to->col, &capacity[1], &j->to->col));
  PetscCall(memory_reserve("operator's values", j->n * j->most, sizeof *j->to->value, &capacity[2], &j->to->value));
  j->to->start[0] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Rows first ... last-1, one after another; start counts from the first of them. Returns the number of entries. */
static int64_t write_rows(const mac_assembly *c, const row_job *j, int64_t first, int64_t last, int32_t *col, double *value)
{
  int64_t tile[MAC_TILE], block = -1, at = 0;
  for (int64_t i = first; i < last; ++i) {
    if (j->slots[i] / MAC_BLOCK != block) block = j->slots[i] / MAC_BLOCK, mac_grid_tile(c->g, block, tile);
    const mac_place place = {j->slots[i], tile, mac_grid_tile_place((int)(j->slots[i] % MAC_BLOCK))};
    at += j->write(c, &place, i, col + at, value + at);
    j->to->start[i + 1] = at;
  }
  return at;
}

/* Each thread's rows follow on those of the thread before. Where that is, is known once all are written: the first thread writes in
 * place, the others into their part of the scratch; so one thread copies nothing, and several nothing in turn. */
static void place_rows(const row_job *j, int thread, int64_t first, int64_t last, const int64_t *n_entries, const int32_t *col,
                       const double *value)
{
  int64_t from = 0;
  if (!thread || first == last) return;
  for (int t = 0; t < thread; ++t) from += n_entries[t];
  for (int64_t i = first; i < last; ++i) j->to->start[i + 1] += from;
  if (!n_entries[thread]) return;
  memcpy(j->to->col + from, col, (size_t)n_entries[thread] * sizeof *col);
  memcpy(j->to->value + from, value, (size_t)n_entries[thread] * sizeof *value);
}

/* Entries that one of so many threads may have of any of the matrices. */
static int64_t most_of_thread(int n_jobs, const row_job *jobs, int threads)
{
  int64_t most = 0;
  for (int q = 0; q < n_jobs; ++q) {
    const int64_t here = (jobs[q].n / threads + 1) * jobs[q].most;
    if (here > most) most = here;
  }
  return most;
}

static PetscErrorCode assemble_rows(const mac_assembly *c, int n_jobs, const row_job *jobs)
{
  mac_system *y = c->y;
  int64_t    *n_entries; /* [job][thread] */
  const int   threads = team_threads();
  PetscFunctionBegin;
  for (int q = 0; q < n_jobs; ++q) PetscCall(reserve_rows(jobs + q, y->rows_capacity[q]));
  /* for a team of any size up to that: parts are rounded up by a row */
  const int64_t room = threads > 1 ? most_of_thread(n_jobs, jobs, 1) + threads * (int64_t)MAX_ENTRIES : 0;
  PetscCall(memory_reserve("rows on the way", room, sizeof *y->row_col, &y->capacity[34], &y->row_col));
  PetscCall(memory_reserve("rows on the way", room, sizeof *y->row_value, &y->capacity[35], &y->row_value));
  PetscCall(memory_alloc("entries of threads", MAX_JOBS * threads, sizeof *n_entries, &n_entries));
  #pragma omp parallel
  {
    const int     t = omp_get_thread_num(), n = omp_get_num_threads();
    const int64_t part = most_of_thread(n_jobs, jobs, n);
    for (int q = 0; q < n_jobs; ++q) {
      const row_job *j     = jobs + q;
      const int64_t  first = j->n * t / n, last = j->n * (t + 1) / n;
      int32_t       *col   = t ? y->row_col + (t - 1) * part : j->to->col;
      double        *value = t ? y->row_value + (t - 1) * part : j->to->value;
      n_entries[q * n + t] = write_rows(c, j, first, last, col, value);
      #pragma omp barrier
      place_rows(j, t, first, last, n_entries + q * n, col, value);
    }
  }
  memory_free(&n_entries);
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
  mac_system   *y = c->y;
  const int64_t slot = y->face_slot[f];
  const int     axis = y->face_axis[f], place = mac_grid_tile_place((int)(slot % MAC_BLOCK));
  const double  h3 = c->g->h * c->g->h * c->g->h, rest = rest_density_of_face(c, tile, place, axis, otherwise),
               filled = fmax(y->weights.face_liquid[axis][slot], c->o->face_fill);
  y->u[f]      = c->s->u[axis][slot];
  y->weight[f] = h3 * y->weights.face_fluid[axis][slot];
  y->mobility[f] =
      y->dt / (c->has_ghosts ? rest * filled : fmax(y->mass[axis][slot] / y->weight[f], c->o->density_floor * c->o->face_fill * rest));
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
  PetscCall(mac_masses_lend(c));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode mac_operators_assemble(mac_assembly *c)
{
  mac_system   *y         = c->y;
  const bool    is_direct = c->o->arrangement == MAC_COLOCATED && y->n_stress;
  const row_job jobs[MAX_JOBS] = {{y->n_cells, y->n_faces, y->cell_slot, 6, write_pressure, &y->G},
                                  {y->n_faces, y->n_cells, y->face_slot, 2, write_face_pressure, &y->GT},
                                  {y->n_stress, y->n_faces, y->stress_slot, 12, write_stress, &y->D},
                                  {y->n_faces, y->n_stress, y->face_slot, MAX_ENTRIES, write_face_stress, &y->DT}};
  PetscFunctionBegin;
  PetscCall(put_faces(c));
  PetscCall(assemble_rows(c, is_direct ? MAX_JOBS : MAX_JOBS - 1, jobs));
  if (!is_direct) {
    sparse_rows_destroy(&y->DT);
    for (int q = 0; q < 3; ++q) y->rows_capacity[3][q] = 0;
    PetscCall(sparse_rows_transposed(&y->D, &y->DT));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

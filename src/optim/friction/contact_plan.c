#include "optim/friction/contact_plan.h"
#include "core/memory.h"
#include <metis.h>
#include <string.h>

#define METIS_CALL(call)                                                                                                                   \
  do {                                                                                                                                     \
    const int metis_ = (call);                                                                                                             \
    PetscCheck(metis_ == METIS_OK, PETSC_COMM_SELF, metis_ == METIS_ERROR_MEMORY ? PETSC_ERR_MEM : PETSC_ERR_LIB,                          \
               "METIS failed with code %d", metis_);                                                                                       \
  } while (0)

/* A sweep takes 50 to 80 ns per contact, and the barrier after each round about 1 us. Small problems therefore have few rounds, but
 * more parts than threads to balance the work. Two threads gain 1.6 to 1.9 on 924
 * to 1,232 contacts of fibres, spheres and capsules (Zen 3). */

void contact_plan_destroy(contact_plan *p)
{
  MEMORY_FREE(&p->round_start, &p->task_start, &p->order);
  *p = (contact_plan){0};
}

int64_t contact_plan_parts(const contact_groups *g)
{
  static const struct {
    int64_t contacts, parts;
  } rule[]      = {{400, 4}, {900, 8}, {8000, 16}, {32000, 32}};
  int64_t parts = 1;
  for (size_t k = 0; k < sizeof rule / sizeof *rule; ++k)
    if (g->n >= rule[k].contacts && g->n_groups >= 2 * rule[k].parts) parts = rule[k].parts;
  return parts;
}

/* Graph of the groups; the weight of an edge is the number of common contacts. */
static PetscErrorCode group_graph(const contact_groups *g, sparse_rows *graph)
{
  int32_t *row = NULL, *col = NULL;
  double  *one = NULL;
  int64_t  n = 0, room = 0;
  PetscFunctionBegin;
  for (int64_t a = 0; a < g->n; ++a) {
    const int64_t m = g->side_start[a + 1] - g->side_start[a];
    room += m * (m - 1);
  }
  PetscErrorCode code = MEMORY_ALLOC("group graph", ARRAY(row, room), ARRAY(col, room), ARRAY(one, room));
  for (int64_t a = 0; !code && a < g->n; ++a)
    for (int64_t k = g->side_start[a]; k < g->side_start[a + 1]; ++k)
      for (int64_t l = g->side_start[a]; l < g->side_start[a + 1]; ++l)
        if (k != l) row[n] = g->side[k].group, col[n] = g->side[l].group, one[n++] = 1.0;
  if (!code) code = sparse_rows_from_triplets("group graph", g->n_groups, g->n_groups, n, row, col, one, graph);
  MEMORY_FREE(&row, &col, &one);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Partition the groups into parts of equal work; the weight of a group is the length of its columns. */
static PetscErrorCode partition_groups(const contact_groups *g, const sparse_rows *graph, int64_t n_parts, idx_t *start, idx_t *weight,
                                       idx_t *edge_weight, idx_t *part)
{
  idx_t nv = (idx_t)g->n_groups, n_constraints = 1, np = (idx_t)n_parts, edge_cut, options[METIS_NOPTIONS];
  PetscFunctionBegin;
  for (int64_t i = 0; i <= g->n_groups; ++i) start[i] = (idx_t)graph->start[i];
  for (int64_t k = 0; k < graph->start[g->n_groups]; ++k) edge_weight[k] = (idx_t)graph->value[k];
  for (int64_t i = 0; i < g->n_groups; ++i) weight[i] = 1;
  for (int64_t k = 0; k < g->side_start[g->n]; ++k) weight[g->side[k].group] += 1 + g->side[k].length / 16;
  METIS_CALL(METIS_SetDefaultOptions(options));
  options[METIS_OPTION_NUMBERING] = 0;
  options[METIS_OPTION_SEED]      = 1;
  METIS_CALL(
      METIS_PartGraphKway(&nv, &n_constraints, start, graph->col, weight, NULL, edge_weight, &np, NULL, NULL, options, &edge_cut, part));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode deal(const contact_groups *g, int64_t n_parts, idx_t *part)
{
  sparse_rows graph = {0};
  idx_t      *start = NULL, *weight = NULL, *edge_weight = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = group_graph(g, &graph);
  if (!code) code = MEMORY_ALLOC("contact plan", ARRAY(start, g->n_groups + 1), ARRAY(weight, g->n_groups));
  if (!code) code = memory_alloc("METIS edges", graph.start[g->n_groups] + 1, sizeof *edge_weight, &edge_weight);
  if (!code) code = partition_groups(g, &graph, n_parts, start, weight, edge_weight, part);
  MEMORY_FREE(&start, &weight, &edge_weight);
  sparse_rows_destroy(&graph);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The class of contact a: its two parts p <= q as p * n_parts + q, or n_parts^2 if there are more. */
static int64_t class_of(const contact_groups *g, int64_t a, int64_t n_parts, const idx_t *part)
{
  int64_t p = -1, q = -1;
  for (int64_t k = g->side_start[a]; k < g->side_start[a + 1]; ++k) {
    const int64_t here = part[g->side[k].group];
    if (p < 0) p = q = here;
    else if (here != p && here != q) {
      if (p != q) return n_parts * n_parts;
      if (here < p) p = here;
      else q = here;
    }
  }
  return p * n_parts + q;
}

static void add_task(contact_plan *s, const int64_t *class_start, const int32_t *by_class, int64_t class)
{
  const int64_t count = class_start[class + 1] - class_start[class], first = s->task_start[s->n_tasks];
  if (count == 0) return;
  memcpy(s->order + first, by_class + class_start[class], (size_t)count * sizeof *s->order);
  s->task_start[++s->n_tasks] = first + count;
}
static void end_round(contact_plan *s)
{
  if (s->n_tasks > s->round_start[s->n_rounds]) s->round_start[++s->n_rounds] = s->n_tasks;
}

/* Pairs of each round by the circle method: part n_parts - 1 stays, the others rotate. */
static void tournament(contact_plan *s, int64_t n_parts, const int64_t *class_start, const int32_t *by_class)
{
  for (int64_t p = 0; p < n_parts; ++p) add_task(s, class_start, by_class, p * n_parts + p);
  end_round(s);
  for (int64_t round = 0; round < n_parts - 1; ++round) {
    for (int64_t pair = 0; pair < n_parts / 2; ++pair) {
      const int64_t i = (round + pair) % (n_parts - 1), j = pair == 0 ? n_parts - 1 : (round + n_parts - 1 - pair) % (n_parts - 1);
      add_task(s, class_start, by_class, i < j ? i * n_parts + j : j * n_parts + i);
    }
    end_round(s);
  }
  add_task(s, class_start, by_class, n_parts * n_parts);
  end_round(s);
}

static PetscErrorCode arrange(const contact_groups *g, int64_t n_parts, contact_plan *s)
{
  const int64_t n_classes   = n_parts * n_parts + 1;
  idx_t        *part        = NULL;
  int64_t      *class_start = NULL;
  int32_t      *by_class    = NULL;
  PetscFunctionBegin;
  PetscErrorCode code = MEMORY_ALLOC("contact plan", ARRAY(part, g->n_groups), ARRAY(class_start, n_classes + 2), ARRAY(by_class, g->n));
  if (!code) code = deal(g, n_parts, part);
  if (!code) {
    for (int64_t a = 0; a < g->n; ++a) ++class_start[class_of(g, a, n_parts, part) + 2];
    for (int64_t c = 0; c < n_classes; ++c) class_start[c + 2] += class_start[c + 1];
    for (int64_t a = 0; a < g->n; ++a) by_class[class_start[class_of(g, a, n_parts, part) + 1]++] = (int32_t)a;
    tournament(s, n_parts, class_start, by_class);
  }
  MEMORY_FREE(&part, &class_start, &by_class);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_plan_create(const contact_groups *g, int64_t n_parts, contact_plan *out)
{
  const int64_t most_tasks = n_parts + n_parts * (n_parts - 1) / 2 + 1;
  PetscFunctionBegin;
  *out = (contact_plan){.n = g->n};
  SS_ASSERT(n_parts == 1 || n_parts % 2 == 0);
  PetscErrorCode code =
      MEMORY_ALLOC("contact plan", ARRAY(out->round_start, n_parts + 3), ARRAY(out->task_start, most_tasks + 1), ARRAY(out->order, g->n));
  if (!code && n_parts > 1) code = arrange(g, n_parts, out);
  if (!code && n_parts == 1) {
    for (int64_t a = 0; a < g->n; ++a) out->order[a] = (int32_t)a;
    out->n_rounds = out->n_tasks = 1;
    out->round_start[1] = 1, out->task_start[1] = g->n;
  }
  if (code) contact_plan_destroy(out);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

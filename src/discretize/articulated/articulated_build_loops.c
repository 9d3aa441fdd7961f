/* Closed loops of an articulated body. */
#include "core/math3.h"
#include "core/memory.h"
#include "discretize/articulated/articulated_build.h"
#include <string.h>

PetscErrorCode articulated_build_take_loops(const articulated_builder *b, articulated_body *a)
{
  const key_list *list = &b->spec->loops;
  PetscFunctionBegin;
  PetscCall(memory_alloc("loops", 3 * list->n, sizeof *a->pin, &a->pin));
  for (int i = 0; i < list->n; ++i) {
    const articulated_loop_spec *s = list->item[i].value;
    const document_node         *node = list->item[i].node;
    char                         path[300];
    int                          side[2];
    const char *const            name[2] = {s->one, s->other}, *const key[2] = {"one", "other"};
    (void)snprintf(path, sizeof path, "%.200s.loops[%d]", b->r->path, i);
    for (int k = 0; k < 2; ++k) {
      const bool is_world = !name[k] || strcmp(name[k], "world") == 0;
      const int  listed   = is_world ? -1 : articulated_build_find_link(b, name[k]);
      side[k]             = articulated_build_in_tree(b, listed);
      if (listed == -2) diagnostics_add_under(b->d, node, path, key[k], "no link is called \"%s\"", name[k]);
    }
    if (side[0] == side[1]) diagnostics_add_under(b->d, node, path, "other", "holds a link to itself: name two");
    const bool has_axis = isfinite(s->axis[0]);
    if (s->type == LOOP_REVOLUTE && !has_axis) diagnostics_add_under(b->d, node, path, NULL, "missing required key \"axis\"");
    if (s->type != LOOP_REVOLUTE && has_axis)
      diagnostics_add_under(b->d, node, path, "axis", "is of type: revolute alone; leave it out");
    if (has_axis && !(v3_norm(s->axis) > 0.0)) diagnostics_add_under(b->d, node, path, "axis", "must not be the zero vector");
    else {
      static const double up[3] = {0, 0, 1};
      double              axes[9];
      articulated_axes(has_axis ? s->axis : up, axes);
      const int n = s->type == LOOP_BALL ? 1 : s->type == LOOP_REVOLUTE ? 2 : 3;
      for (int k = 0; k < n; ++k) { /* about the place, as far apart as the whole is wide */
        articulated_pin *pin = &a->pin[a->n_pins++];
        *pin                 = (articulated_pin){.one = side[0], .other = side[1]};
        v3_copy(pin->X, s->at);
        if (n == 2) v3_axpy(pin->X, k == 0 ? 0.5 * a->size : -0.5 * a->size, axes);
        if (n == 3) v3_axpy(pin->X, 0.5 * a->size, axes + 3 * k);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Loops are closed where the joints begin. */
void articulated_build_check_loops(const articulated_builder *b, const articulated_body *a)
{
  for (int i = 0; i < a->n_pins; ++i) {
    const articulated_pin *p = &a->pin[i];
    double                 x[2][3], gap[3];
    const int              side[2] = {p->one, p->other};
    for (int k = 0; k < 2; ++k) {
      v3_copy(x[k], p->X);
      if (side[k] < 0) continue;
      m3_mulv(x[k], a->R0 + 9 * side[k], p->X);
      v3_axpy(x[k], 1.0, a->p0 + 3 * side[k]);
    }
    v3_sub(gap, x[0], x[1]);
    if (v3_norm(gap) <= 1e-6 * a->size) continue;
    diagnostics_add_under(b->d, b->r->node, b->r->path, "loops",
                          "are drawn closed, but the positions that joints begin with tear them by %g m: give positions that fit",
                          v3_norm(gap));
    return;
  }
}

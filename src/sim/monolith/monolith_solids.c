#include "sim/monolith/monolith_solids.h"
#include "core/memory.h"

static bool is_continuum(const scene_body *b) { return b->kind->ops->carrier != NULL; }

static const contact_law *law_of(const scene *s, int i, int j) { return &s->laws[i * s->n_bodies + j]; }

/* Is j a solid for any continuum? *one: of those that it touches, the first; -1: none. */
static bool displaces(const scene *s, int j, int *one)
{
  int n = 0;
  *one  = -1;
  if (is_continuum(&s->bodies[j]) || !s->bodies[j].body->ops->level_sets) return false;
  (void)s->bodies[j].body->ops->level_sets(s->bodies[j].body, &n);
  for (int i = s->n_bodies - 1; i >= 0 && n > 0; --i)
    if (is_continuum(&s->bodies[i]) && !law_of(s, i, j)->never_touch) *one = i;
  return *one >= 0;
}

PetscErrorCode monolith_solids_check(const scene *s, diagnostics *d)
{
  PetscFunctionBegin;
  const document_node *root = s->options->root, *where = document_find(root, "contact");
  for (int j = 0; j < s->n_bodies; ++j) {
    int one;
    if (!displaces(s, j, &one)) continue;
    for (int i = 0; i < s->n_bodies; ++i) {
      const contact_law *a = law_of(s, one, j), *b = law_of(s, i, j);
      if (!is_continuum(&s->bodies[i]) || (a->never_touch == b->never_touch && a->friction == b->friction)) continue;
      diagnostics_add(d, (where ? where : root)->mark, "contact.pairs",
                      "\"%s\" touches \"%s\" and \"%s\" differently: bodies of kind mac are one continuum on one grid; give both "
                      "the same friction and touch",
                      s->bodies[j].name, s->bodies[one].name, s->bodies[i].name);
      break;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode monolith_solids_create(const scene *s, monolith_solids *out)
{
  int one;
  PetscFunctionBegin;
  *out = (monolith_solids){0};
  PetscCall(memory_alloc("solids", s->n_bodies, sizeof *out->solid, &out->solid));
  PetscCall(memory_alloc("solids", s->n_bodies, sizeof *out->unknown, &out->unknown));
  for (int j = 0; j < s->n_bodies; ++j) {
    if (!displaces(s, j, &one)) continue;
    mac_solid *solid = &out->solid[out->n];
    body      *b     = s->bodies[j].body;
    *solid           = (mac_solid){.body = j, .is_unknown = body_system(b) != NULL, .friction = law_of(s, one, j)->friction};
    solid->sets      = b->ops->level_sets(b, &solid->n);
    out->unknown[out->n++] = -1;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

void monolith_solids_destroy(monolith_solids *s)
{
  memory_free(&s->solid);
  memory_free(&s->unknown);
  s->n = 0;
}

void monolith_solids_place(monolith_solids *s, const scene *of, const rigid_frame *frames)
{
  for (int k = 0; k < s->n; ++k) {
    const scene_body *b = &of->bodies[s->solid[k].body];
    s->solid[k].frame   = frames[b->frame];
    s->unknown[k]       = s->solid[k].is_unknown ? (int32_t)(b->body->first_block / 2) : -1;
  }
}

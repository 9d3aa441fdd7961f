/* Classes of bodies, see contact_classes.h: one sorted list of the names in contact.pairs, one sort of the bodies by their properties. */
#include "sim/scene/contact_classes.h"
#include "core/memory.h"
#include "sim/scene/scene_options.h"
#include <stdlib.h>
#include <string.h>

/* A name in contact.pairs. */
typedef struct {
  const char *text;
  int32_t     n, first; /* number of bodies with this name; one of them */
  bool        splits;   /* bodies with this name form classes of their own */
} pair_name;

/* Everything that distinguishes classes. */
typedef struct {
  const contact_traits *of;
  int32_t               name[CONTACT_NAMES]; /* names that split, -1: none */
  int32_t               body;
} class_key;

static int compare_names(const void *x, const void *y) { return strcmp(((const pair_name *)x)->text, ((const pair_name *)y)->text); }

static pair_name *find_name(int32_t n, pair_name *names, const char *text)
{
  const pair_name key = {.text = text};
  return text && n > 0 ? bsearch(&key, names, (size_t)n, sizeof *names, compare_names) : NULL;
}

static const key_list *names_of(const key_list *pairs, int k) { return &((const contact_pair_options *)pairs->item[k].value)->between; }

/* Sorted names of all entries, without repetitions, with the bodies that have them. */
static PetscErrorCode list_names(int32_t n, const contact_traits *traits, const key_list *pairs, int32_t *n_names, pair_name **out)
{
  int32_t    m = 0;
  pair_name *names;
  PetscFunctionBegin;
  PetscCall(memory_alloc("contact classes", 2 * (int64_t)pairs->n, sizeof *names, &names));
  *out     = names;
  *n_names = 0;
  for (int k = 0; k < pairs->n; ++k)
    for (int i = 0; i < 2 && names_of(pairs, k)->n == 2; ++i) names[m++] = (pair_name){.text = names_of(pairs, k)->item[i].value};
  if (m > 1) qsort(names, (size_t)m, sizeof *names, compare_names);
  for (int32_t k = 0; k < m; ++k)
    if (k == 0 || strcmp(names[k].text, names[*n_names - 1].text) != 0) names[(*n_names)++] = names[k];
  for (int32_t i = 0; i < n; ++i) {
    pair_name *before[CONTACT_NAMES] = {NULL};
    for (int k = 0; k < CONTACT_NAMES; ++k) {
      before[k] = find_name(*n_names, names, traits[i].name[k]);
      if (!before[k] || (k > 0 && before[k] == before[0]) || (k > 1 && before[k] == before[1])) continue;
      if (before[k]->n++ == 0) before[k]->first = i;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Pairs of two single bodies are exceptions [*n][2]; all other names split. */
static PetscErrorCode list_exceptions(const key_list *pairs, int32_t n_names, pair_name *names, int64_t *n, int32_t **out)
{
  PetscFunctionBegin;
  *n = 0;
  PetscCall(memory_alloc("contact classes", 2 * (int64_t)pairs->n, sizeof **out, out));
  for (int k = 0; k < pairs->n; ++k) {
    const key_list *between = names_of(pairs, k);
    if (between->n != 2) continue;
    pair_name *one = find_name(n_names, names, between->item[0].value), *two = find_name(n_names, names, between->item[1].value);
    if (one->n == 0 || two->n == 0) continue;
    if (one->n > 1 || two->n > 1) {
      one->splits = two->splits = true;
      continue;
    }
    (*out)[2 * *n] = one->first, (*out)[2 * *n + 1] = two->first;
    ++*n;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int compare_keys(const void *x, const void *y)
{
  const class_key *a = x, *b = y;
#define ORDER(field)                                                                                                                       \
  if (a->field != b->field) return a->field < b->field ? -1 : 1
  ORDER(of->kind);
  ORDER(of->ops);
  ORDER(of->traits);
  ORDER(of->sides);
  ORDER(of->has_closed_surface);
  for (int k = 0; k < CONTACT_NAMES; ++k) ORDER(name[k]);
#undef ORDER
  return 0;
}

static int compare_bodies(const void *x, const void *y)
{
  const int order = compare_keys(x, y);
  return order ? order
               : (((const class_key *)x)->body > ((const class_key *)y)->body) -
                     (((const class_key *)x)->body < ((const class_key *)y)->body);
}

/* Classes in the order of their first bodies, independent of addresses. */
static PetscErrorCode number_classes(int32_t n, const contact_traits *traits, int32_t n_names, pair_name *names, int32_t *n_classes,
                                     int32_t *class_of)
{
  class_key *key;
  int32_t   *leader; /* [n] first body of the same class */
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contact classes", ARRAY(key, n), ARRAY(leader, n)));
  for (int32_t i = 0; i < n; ++i) {
    key[i] = (class_key){.of = &traits[i], .body = i};
    for (int k = 0; k < CONTACT_NAMES; ++k) {
      const pair_name *name = find_name(n_names, names, traits[i].name[k]);
      key[i].name[k]        = name && name->splits ? (int32_t)(name - names) : -1;
    }
  }
  if (n > 1) qsort(key, (size_t)n, sizeof *key, compare_bodies);
  for (int32_t i = 0; i < n; ++i)
    leader[key[i].body] = i > 0 && compare_keys(&key[i - 1], &key[i]) == 0 ? leader[key[i - 1].body] : key[i].body;
  *n_classes = 0;
  for (int32_t i = 0; i < n; ++i) class_of[i] = leader[i] == i ? (*n_classes)++ : class_of[leader[i]];
  MEMORY_FREE(&key, &leader);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode contact_classes_create(int32_t n, const contact_traits *traits, const key_list *pairs, pair_classes **out)
{
  pair_name *names   = NULL;
  int32_t    n_names = 0, n_classes = 0, *class_of, *group, *exception = NULL;
  int64_t    n_exceptions = 0;
  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("contact classes", ARRAY(class_of, n), ARRAY(group, n)));
  for (int32_t i = 0; i < n; ++i) group[i] = traits[i].group;
  PetscErrorCode code = list_names(n, traits, pairs, &n_names, &names);
  if (!code) code = list_exceptions(pairs, n_names, names, &n_exceptions, &exception);
  if (!code) code = number_classes(n, traits, n_names, names, &n_classes, class_of);
  if (!code) code = pair_classes_create(n, n_classes, class_of, group, n_exceptions, exception, out);
  MEMORY_FREE(&names, &class_of, &group, &exception);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

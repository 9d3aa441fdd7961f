/* Compiles the expressions once and evaluates them with the last values of all measures. */
#include "app/job/until.h"
#include <string.h>
#include "core/expression.h"
#include "core/memory.h"

/* clang-format off */
static const key_spec until_keys[] = {
  {.name = "when", .type = KEY_STRING, .offset = offsetof(until_condition, when),
   .help = "expression in the names of measures, t (simulated seconds) and step; nonzero is true, like a comparison that is "
           "satisfied"},
  {.name = "for", .type = KEY_REAL, .offset = offsetof(until_condition, hold), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "time for which the expression must have been true at every step"},
  {.name = "after", .type = KEY_REAL, .offset = offsetof(until_condition, after), .unit = "s", .fallback = "0", .min = 0, .max = INFINITY,
   .help = "simulated time before which it counts as false"},
  {.name = NULL}};
/* clang-format on */
const key_table until_table = {
    .name      = "until",
    .help      = "A condition on measures; the first one that is met ends the run as time.end does. Each measure has its last recorded "
                 "value; without one, or if it is not a number, comparisons with it are false (but != is true).",
    .size      = sizeof(until_condition),
    .keys      = until_keys,
    .shorthand = "when"};

/* Variables: the measures in the order of the job, then these. */
enum { VARIABLE_T, VARIABLE_STEP, N_OWN };
static const char *const own_names[N_OWN] = {[VARIABLE_T] = "t", [VARIABLE_STEP] = "step"};

typedef struct {
  const until_condition *spec;
  expression            *when;
} condition;

struct until {
  const measures *values;
  named_state    *named_state;
  warning_list   *warnings;
  int             n, n_measures;
  condition      *condition;
  double         *variable; /* [n_measures + N_OWN] */
};

static PetscErrorCode variable_names(const key_list *measured, int *n, const char ***names)
{
  PetscFunctionBegin;
  *n = measured->n + N_OWN;
  PetscCall(memory_alloc("until", *n, sizeof **names, names));
  for (int i = 0; i < measured->n; ++i) (*names)[i] = measured->item[i].name;
  for (int i = 0; i < N_OWN; ++i) (*names)[measured->n + i] = own_names[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- checking ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode check_condition(const key_item *item, int i, int n, const char *const *names, diagnostics *d)
{
  const until_condition *spec = item->value;
  expression            *e;
  char                   message[200], word[64], path[32];
  int                    place;
  PetscFunctionBegin;
  snprintf(path, sizeof path, "until[%d]", i);
  PetscCall(expression_compile(spec->when, n, names, &e, &place, message, sizeof message));
  if (!e) {
    expression_word(spec->when, place, sizeof word, word);
    const char *nearest = strcmp(message, "unknown name") == 0 ? diagnostics_nearest(word, n, names) : NULL;
    if (strcmp(message, "unknown name") != 0)
      diagnostics_add_under(d, item->node, path, "when", "\"%s\": %s at character %d", spec->when, message, place + 1);
    else if (nearest)
      diagnostics_add_under(d, item->node, path, "when", "no measure is called \"%s\"; did you mean \"%s\"?", word, nearest);
    else
      diagnostics_add_under(d, item->node, path, "when", "no measure is called \"%s\"; give the name of an entry of measure:, t or step",
                            word);
  }
  expression_destroy(&e);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode until_check(const key_list *list, const key_list *measured, diagnostics *d)
{
  const char **names __attribute__((cleanup(memory_free))) = NULL;
  int          n;
  PetscFunctionBegin;
  if (list->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(variable_names(measured, &n, &names));
  for (int i = 0; i < measured->n; ++i)
    for (int k = 0; k < N_OWN; ++k)
      if (strcmp(names[i], own_names[k]) == 0)
        diagnostics_add_under(d, measured->item[i].node, "measure", names[i],
                              "with until:, \"%s\" is the name of a variable of the run; "
                              "rename the measure",
                              names[i]);
  for (int i = 0; i < list->n; ++i) PetscCall(check_condition(&list->item[i], i, n, names, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* --- creation ------------------------------------------------------------------------------------------------------ */

static PetscErrorCode condition_create(const until_condition *spec, int n, const char *const *names, condition *c)
{
  PetscFunctionBegin;
  c->spec = spec;
  PetscCall(expression_compile(spec->when, n, names, &c->when, NULL, NULL, 0));
  PetscCheck(c->when, PETSC_COMM_SELF, PETSC_ERR_PLIB, "until: \"%s\" has not been checked", spec->when);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode until_create(const key_list *list, const key_list *measured, const measures *values, named_state *m, warning_list *warnings,
                            until **out)
{
  const char **names __attribute__((cleanup(memory_free))) = NULL;
  int          n;
  PetscFunctionBegin;
  PetscCall(memory_alloc("until", 1, sizeof **out, out));
  until *u = *out;
  *u       = (until){.values = values, .named_state = m, .warnings = warnings, .n = list->n, .n_measures = measured->n};
  PetscCall(MEMORY_ALLOC("until", ARRAY(u->condition, u->n), ARRAY(u->variable, u->n_measures + N_OWN)));
  PetscCall(variable_names(measured, &n, &names));
  for (int i = 0; i < u->n; ++i) PetscCall(condition_create(list->item[i].value, n, names, &u->condition[i]));
  PetscFunctionReturn(PETSC_SUCCESS);
}

void until_destroy(until **u)
{
  if (!*u) return;
  for (int i = 0; i < (*u)->n && (*u)->condition; ++i) expression_destroy(&(*u)->condition[i].when);
  MEMORY_FREE(&(*u)->condition, &(*u)->variable, u);
}

/* --- during the run ------------------------------------------------------------------------------------------------ */

enum { NAME = EXPRESSION_MAX_LENGTH + 100 };

/* The key contains the whole condition: a changed condition starts anew. */
static const char *named_state_name(const char *what, const until_condition *c, char name[NAME])
{
  snprintf(name, NAME, "until %s %.*s|%.17g|%.17g", what, EXPRESSION_MAX_LENGTH, c->when, c->hold, c->after);
  return name;
}

/* Warn about overflow or an undefined value. A measure without a value is NaN, which is not an error: see until_table. */
static void warn_not_finite(const until *u, const condition *c, double t)
{
  for (int k = 0; k < u->n_measures + N_OWN; ++k)
    if (!isfinite(u->variable[k]) && expression_uses(c->when, k)) return;
  warning_list_add(
      u->warnings, "until-not-finite", "until",
      "\"%.200s\" contains an infinite or undefined value at t = %g s, although its measures are finite; comparisons with it are "
      "not meaningful: correct the expression",
      c->spec->when, t);
}

static PetscErrorCode step_condition(until *u, const condition *c, const sim_clock *now, bool *is_met)
{
  char         name[NAME];
  bool         is_finite;
  const double x       = expression_value_checked(c->when, u->variable, &is_finite),
               since   = named_state_get(u->named_state, named_state_name("since", c->spec, name), -1.0);
  const bool   is_true = now->time >= c->spec->after - 1e-6 * now->dt && (x > 0.0 || x < 0.0); /* NaN counts as false */
  const double start   = !is_true ? -1.0 : since < 0.0 ? now->time : since;
  PetscFunctionBegin;
  if (!is_finite) warn_not_finite(u, c, now->time);
  PetscCall(named_state_set(u->named_state, name, start));
  *is_met = is_true && now->time - start >= c->spec->hold - 1e-6 * now->dt;
  if (*is_met) PetscCall(named_state_set(u->named_state, named_state_name("met", c->spec, name), 1.0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode until_step(until *u, const sim_clock *now, bool *is_met)
{
  PetscFunctionBegin;
  *is_met = false;
  if (u->n == 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (int i = 0; i < u->n_measures; ++i) u->variable[i] = measures_statistics(u->values, i, NULL)->last;
  u->variable[u->n_measures + VARIABLE_T]    = now->time;
  u->variable[u->n_measures + VARIABLE_STEP] = (double)now->step;
  for (int i = 0; i < u->n; ++i) {
    bool one;
    PetscCall(step_condition(u, &u->condition[i], now, &one));
    *is_met |= one;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool until_met(const until *u, size_t size, char *text)
{
  char name[NAME];
  for (int i = 0; i < u->n; ++i) {
    const until_condition *c = u->condition[i].spec;
    if (named_state_get(u->named_state, named_state_name("met", c, name), 0.0) == 0.0) continue;
    const int n = snprintf(text, size, "%s", c->when), m = n > 0 && (size_t)n < size ? n : 0;
    if (c->hold > 0.0 && m > 0) snprintf(text + m, size - (size_t)m, " for %g s", c->hold);
    return true;
  }
  return false;
}

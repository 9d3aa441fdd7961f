#include "sim/step/petsc_options.h"
#include "core/memory.h"
#include "optim/optim.h"
#include "sim/scene/scene.h"
#include "sim/step/solver_options.h"
#include <petscsys.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 256, LONGEST = 256, MOST_KNOWN = 4096 };

/* One option: its name without dash, and the name under which the probe enters it (see find_substitute). */
typedef struct {
  char          name[LONGEST], probed[LONGEST];
  const char   *value; /* NULL: none */
  document_mark mark;
  bool          is_wrong; /* already reported */
} petsc_option;

typedef struct {
  int          n;
  petsc_option option[MOST];
} option_list;

static void add_option(option_list *list, const char *name, const document_node *value, document_mark mark, diagnostics *d)
{
  const char *wrong = *name == '-'                       ? "write the option without its dash"
                      : value->kind == DOCUMENT_SEQUENCE ? "expected a number, a word or nothing, got a list"
                      : list->n == MOST                  ? "the job has too many options of PETSc"
                      : strlen(name) > LONGEST / 2       ? "expected a shorter name"
                                                         : NULL;
  for (int i = 0; i < list->n && !wrong; ++i)
    if (strcmp(list->option[i].name, name) == 0) wrong = "is given twice; remove one of them";
  if (wrong) {
    if (d) diagnostics_add(d, mark, "solver.petsc", "%.100s: %s", name, wrong);
    return;
  }
  petsc_option *o = &list->option[list->n++];
  memset(o, 0, sizeof *o);
  snprintf(o->name, sizeof o->name, "%s", name);
  o->value = value->text && *value->text ? value->text : NULL;
  o->mark  = mark;
}

/* Join nested keys with _. */
static void collect_options(option_list *list, const document_node *node, const char *prefix, diagnostics *d)
{
  for (int i = 0; node && i < node->n; ++i) {
    char name[LONGEST];
    snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "_" : "", node->key[i]);
    if (node->value[i]->kind == DOCUMENT_MAPPING) collect_options(list, node->value[i], name, d);
    else add_option(list, name, node->value[i], node->key_mark[i], d);
  }
}

static bool ends_with(const char *text, const char *end)
{
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

/* Options that PETSc reads when the program ends. */
static const char *const at_end[] = {"log_view", "options_left", "options_view"};
static bool              is_read_at_end(const char *name)
{
  for (size_t k = 0; k < sizeof at_end / sizeof *at_end; ++k)
    if (strcmp(name, at_end[k]) == 0) return true;
  return false;
}

/* Some views are read only by a solve. The probe does not solve, so it enters a monitor of the same object in their place. */
static void find_substitute(petsc_option *o)
{
  static const char *const late[][2] = {
      {"ksp_converged_reason", "ksp_monitor"},   {"snes_view", "snes_monitor"}, {"snes_view_solution", "snes_monitor"},
      {"snes_converged_reason", "snes_monitor"}, {"tao_view", "tao_monitor"},   {"tao_view_solution", "tao_monitor"},
      {"tao_converged_reason", "tao_monitor"}};
  memcpy(o->probed, o->name, sizeof o->probed);
  for (size_t k = 0; k < sizeof late / sizeof *late; ++k) {
    const size_t n = strlen(o->name), m = strlen(late[k][0]);
    if (ends_with(o->name, late[k][0])) memcpy(o->probed + n - m, late[k][1], strlen(late[k][1]) + 1);
  }
}

/* Names of the options in PETSc's help text, which is changed: lines "  -name <value>: meaning". Returns their number. */
static int read_help(char *text, int most, const char **names)
{
  int n = 0;
  for (char *line = text, *next; line && *line && n < most; line = next) {
    next = strchr(line, '\n');
    if (next) *next++ = '\0';
    char *const name = line + strspn(line, " ") + 1;
    if (name[-1] != '-' || name == line + 1) continue;
    name[strcspn(name, " :<")] = '\0';
    names[n++]                 = name;
  }
  return n;
}

static FILE *help_stream;
static PetscErrorCode (*print_to_file)(FILE *, const char[], va_list);
static PetscErrorCode print_to_help(FILE *out, const char format[], va_list arguments)
{
  (void)out;
  return print_to_file(help_stream, format, arguments);
}

/* Create the solvers with the first n options in a database of their own. *is_read [n]: the solvers have read the option. *help (may be
 * NULL): PETSc's help on the options that they read; free(*help). A file
 * named by a monitor must not be written, so monitors and views are entered without value. */
static PetscErrorCode probe(const formulation_ops *ops, const scene *s, const option_list *list, int n, char **help, bool *is_read,
                            PetscErrorCode *result)
{
  PetscOptions            options;
  PetscInt                n_left = 0;
  char                  **names = NULL, **values = NULL;
  size_t                  size;
  PetscOptionsHelpPrinted printed = PetscOptionsHelpPrintedSingleton;
  PetscFunctionBegin;
  PetscCall(PetscOptionsCreate(&options));
  for (int i = 0; i < n; ++i) {
    const petsc_option *o = &list->option[i];
    char                name[LONGEST + 1];
    if (o->is_wrong) continue;
    snprintf(name, sizeof name, "-%s", o->probed);
    PetscCall(PetscOptionsSetValue(options, name, strstr(o->probed, "_monitor") || strstr(o->probed, "_view") ? NULL : o->value));
  }
  if (help) {
    char *words[] = {"stickslip", "-skip_petscrc", "-help"}, **arguments = words;
    int   n_words = 3;
    PetscCall(PetscOptionsInsert(options, &n_words, &arguments, NULL)); /* -help has no effect in PetscOptionsSetValue */
    PetscCall(PetscOptionsHelpPrintedCreate(&PetscOptionsHelpPrintedSingleton));
    help_stream = open_memstream(help, &size);
    PetscCheck(help_stream, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory");
    print_to_file = PetscVFPrintf;
    PetscVFPrintf = print_to_help;
  }
  PetscCall(optim_register_all());
  PetscCall(PetscOptionsPush(options));
  *result = ops->probe ? ops->probe(s) : PETSC_SUCCESS;
  PetscCall(PetscOptionsPop());
  if (help) {
    fclose(help_stream);
    PetscVFPrintf = print_to_file;
    PetscCall(PetscOptionsHelpPrintedDestroy(&PetscOptionsHelpPrintedSingleton));
    PetscOptionsHelpPrintedSingleton = printed;
  }
  PetscCall(PetscOptionsLeftGet(options, &n_left, &names, &values));
  for (int i = 0; i < n && is_read; ++i) is_read[i] = true;
  for (PetscInt k = 0; k < n_left && is_read; ++k)
    for (int i = 0; i < n; ++i) is_read[i] = is_read[i] && strcmp(names[k], list->option[i].probed) != 0;
  PetscCall(PetscOptionsLeftRestore(options, &n_left, &names, &values));
  PetscCall(PetscOptionsDestroy(&options));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* PETSc's message: its first line, without the dot at the end. */
static void describe_error(size_t size, char *out)
{
  const char *text = error_message();
  size_t      n    = strcspn(text, "\n");
  while (n > 0 && strchr(". ", text[n - 1])) --n;
  snprintf(out, size, "%.*s", (int)n, text);
}

/* Report the options without which the solvers can be created: each is the first one that makes them fail. */
static PetscErrorCode report_rejected(const formulation_ops *ops, const scene *s, option_list *list, diagnostics *d)
{
  PetscFunctionBegin;
  for (int i = 0; i < list->n; ++i) {
    petsc_option  *o = &list->option[i];
    PetscErrorCode code;
    char           why[512];
    PetscCall(probe(ops, s, list, i + 1, NULL, NULL, &code));
    if (!code) continue;
    describe_error(sizeof why, why);
    error_clear();
    o->is_wrong = true;
    diagnostics_add(d, o->mark, "solver.petsc",
                    "%s: PETSc does not accept \"%s\" for formulation %s: %s; expected a value that the solver of this "
                    "prefix supports (docs/reference/petsc.md)",
                    o->name, o->value ? o->value : "", ops->scene.name, why);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode report_unread(const formulation_ops *ops, const scene *s, const option_list *list, const bool *is_read,
                                    diagnostics *d)
{
  PetscErrorCode code;
  const char    *known[MOST_KNOWN];
  int            n_known;
  char          *help = NULL;
  bool           any  = false;
  PetscFunctionBegin;
  for (int i = 0; i < list->n; ++i) any = any || (!is_read[i] && !list->option[i].is_wrong);
  if (!any) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(probe(ops, s, list, list->n, &help, NULL, &code));
  if (code) error_clear();
  n_known = read_help(help, MOST_KNOWN, known);
  for (int i = 0; i < list->n; ++i) {
    const petsc_option *o        = &list->option[i];
    bool                is_known = false;
    char                with_prefix[2 * LONGEST];
    if (is_read[i] || o->is_wrong) continue;
    for (int k = 0; k < n_known; ++k) is_known = is_known || strcmp(known[k], o->name) == 0;
    snprintf(with_prefix, sizeof with_prefix, "%s_%s", ops->scene.name, o->name);
    const char *nearest = is_known ? NULL : diagnostics_nearest(o->name, n_known, known);
    if (!nearest && !is_known) nearest = diagnostics_nearest(with_prefix, n_known, known);
    diagnostics_add(d, o->mark, "solver.petsc",
                    "%s: no solver of formulation %s reads this option; %s%s%s (docs/reference/petsc.md lists the prefixes)", o->name,
                    ops->scene.name, nearest ? "did you mean \"" : "remove it", nearest ? nearest : "", nearest ? "\"?" : "");
  }
  free(help);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode check_list(const formulation_ops *ops, const scene *s, option_list *list, diagnostics *d)
{
  PetscErrorCode code;
  bool           is_read[MOST] = {false};
  PetscFunctionBegin;
  PetscCall(probe(ops, s, list, list->n, NULL, is_read, &code));
  if (code) {
    error_clear();
    PetscCall(report_rejected(ops, s, list, d));
    PetscCall(probe(ops, s, list, list->n, NULL, is_read, &code));
    PetscCall(code); /* fails without the rejected options, too */
  }
  PetscCall(report_unread(ops, s, list, is_read, d));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode petsc_options_check(const formulation_ops *ops, const scene *s, diagnostics *d)
{
  option_list *list;
  int          n = 0;
  PetscFunctionBegin;
  if (!s->options->solver->petsc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("options of PETSc", 1, sizeof *list, &list));
  collect_options(list, s->options->solver->petsc, "", d);
  for (int i = 0; i < list->n; ++i) {
    if (is_read_at_end(list->option[i].name)) continue;
    list->option[n] = list->option[i];
    find_substitute(&list->option[n++]);
  }
  list->n                   = n;
  const PetscErrorCode code = n > 0 ? check_list(ops, s, list, d) : PETSC_SUCCESS;
  memory_free(&list);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode petsc_options_set(const document_node *petsc)
{
  option_list *list;
  PetscFunctionBegin;
  if (!petsc) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(memory_alloc("options of PETSc", 1, sizeof *list, &list));
  collect_options(list, petsc, "", NULL);
  PetscErrorCode code = PETSC_SUCCESS;
  for (int i = 0; i < list->n && !code; ++i) {
    char name[LONGEST + 1];
    snprintf(name, sizeof name, "-%s", list->option[i].name);
    code = PetscOptionsSetValue(NULL, name, list->option[i].value);
    if (!code && strcmp(list->option[i].name, "log_view") == 0) code = PetscLogDefaultBegin();
  }
  memory_free(&list);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

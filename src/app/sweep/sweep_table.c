#include "app/sweep/sweep_table.h"
#include <string.h>
#include "core/memory.h"

enum { MAX_WIDTH = 40 };

/* A column: a parameter, or a key that is set to something else than a parameter. */
typedef struct {
  const char *name;
  int         parameter, setting; /* one of them -1 */
  int         width;
} column;

static const char *text_of(const sweep_plan *plan, const column *c, int64_t i)
{
  const sweep_case *one = &plan->cases[i];
  return c->parameter >= 0 ? one->value[c->parameter] : one->overrides[c->setting] + strlen(plan->setting[c->setting]) + 1;
}

/* Characters, not bytes, of which the first MAX_WIDTH are shown. */
static int width_of(const char *s)
{
  int n = 0;
  for (; *s; ++s) n += (*s & 0xc0) != 0x80;
  return n < MAX_WIDTH ? n : MAX_WIDTH;
}

/* What does not fit ends with dots. */
static void print_cell(FILE *out, const char *s, int width)
{
  const int show = strlen(s) > MAX_WIDTH && width_of(s) == MAX_WIDTH ? MAX_WIDTH - 3 : MAX_WIDTH;
  int       n    = 0;
  fprintf(out, "  %*s", width - width_of(s), "");
  for (; *s && (n < show || (*s & 0xc0) == 0x80); ++s) {
    n += (*s & 0xc0) != 0x80;
    fputc(*s, out);
  }
  if (*s) fprintf(out, "...");
}

static bool is_constant(const sweep_plan *plan, const column *c)
{
  for (int64_t i = 1; i < plan->n_cases; ++i)
    if (strcmp(text_of(plan, c, 0), text_of(plan, c, i))) return false;
  return true;
}

/* The parameter that a setting is equal to in every case, or NULL. */
static const char *same_parameter(const sweep_plan *plan, const column *c)
{
  for (int k = 0; k < plan->n_parameters; ++k) {
    const column parameter = {plan->parameter[k], k, -1, 0};
    int64_t      i         = 0;
    while (i < plan->n_cases && !strcmp(text_of(plan, c, i), text_of(plan, &parameter, i))) ++i;
    if (i == plan->n_cases) return plan->parameter[k];
  }
  return NULL;
}

PetscErrorCode sweep_table_print(const sweep_plan *plan, FILE *out)
{
  column *columns;
  int     n = 0;

  PetscFunctionBegin;
  PetscCall(memory_alloc("table", plan->n_parameters + plan->n_settings + 1, sizeof *columns, &columns));
  fprintf(out, "%s: %lld case%s of %s", plan->name, (long long)plan->n_cases, plan->n_cases == 1 ? "" : "s", plan->base);
  if (plan->n_filtered) fprintf(out, ", %lld left out by \"where\"", (long long)plan->n_filtered);
  fprintf(out, "\n");
  for (int i = 0; i < plan->n_parameters; ++i) columns[n++] = (column){plan->parameter[i], i, -1, 0};
  for (int i = 0; i < plan->n_settings; ++i) {
    bool is_parameter = false;
    for (int k = 0; k < plan->n_parameters; ++k) is_parameter = is_parameter || !strcmp(plan->setting[i], plan->parameter[k]);
    columns[n] = (column){plan->setting[i], -1, i, 0};
    if (is_parameter) continue;
    const char *same = plan->n_cases < 2 ? NULL : is_constant(plan, &columns[n]) ? text_of(plan, &columns[n], 0) : same_parameter(plan, &columns[n]);
    if (same) fprintf(out, "in every case: %s = %s\n", plan->setting[i], same);
    else ++n;
  }
  fprintf(out, "\nnumber");
  for (int k = 0; k < n; ++k) {
    columns[k].width = width_of(columns[k].name);
    for (int64_t i = 0; i < plan->n_cases; ++i) {
      const int width = width_of(text_of(plan, &columns[k], i));
      if (width > columns[k].width) columns[k].width = width;
    }
    print_cell(out, columns[k].name, columns[k].width);
  }
  fprintf(out, "\n");
  for (int64_t i = 0; i < plan->n_cases; ++i) {
    fprintf(out, "%6lld", (long long)plan->cases[i].number);
    for (int k = 0; k < n; ++k) print_cell(out, text_of(plan, &columns[k], i), columns[k].width);
    fprintf(out, "\n");
  }
  memory_free(&columns);
  PetscFunctionReturn(PETSC_SUCCESS);
}

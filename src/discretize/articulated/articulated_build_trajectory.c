/* A table of joint positions over time: a column `t`, and one for each joint that follows it. */
#include "core/csv.h"
#include "core/key_text.h"
#include "core/memory.h"
#include "core/diagnostics.h"
#include "discretize/articulated/articulated_build.h"
#include <string.h>

/* Cell of column c in a row, which is the line after it. */
static bool number_of(const articulated_builder *b, const csv_table *t, int64_t row, int c, double *x)
{
  const char *cell = t->cell[row * t->n_columns + c], *end;
  while (*cell == ' ') ++cell;
  const bool is_negative = *cell == '-';
  *x = key_text_strtod(cell + (is_negative || *cell == '+'), &end);
  if (is_negative) *x = -*x;
  const bool is_number = end > cell + (is_negative || *cell == '+') && end[strspn(end, " \r")] == '\0' && isfinite(*x);
  if (!is_number)
    diagnostics_add(b->d, (document_mark){b->spec->trajectory, (int)row + 1, c + 1}, t->cell[c], "expected a number, found \"%s\"", cell);
  return is_number;
}

/* Whose column it is; NULL: nobody's. */
static built_joint *joint_of_column(const articulated_builder *b, const csv_table *t, int c)
{
  const char *names[256], *name = t->cell[c];
  int         n = 0;
  for (int k = 0; k < b->n_joints; ++k) {
    built_joint *j = &b->joints[k];
    if (strcmp(j->name, name) != 0) {
      if (n < 256) names[n++] = j->name;
      continue;
    }
    if (j->has_course) COMPLAIN_JOINT(b, j, NULL, "has two columns in %s: leave out one of them", b->spec->trajectory);
    else return j;
    return NULL;
  }
  const char *nearest = diagnostics_nearest(name, n, names);
  diagnostics_add(b->d, (document_mark){b->spec->trajectory, 1, c + 1}, NULL, "no joint is called \"%s\"%s%s%s", name,
                  nearest ? "; did you mean \"" : "", nearest ? nearest : "", nearest ? "\"?" : "");
  return NULL;
}

static PetscErrorCode take_column(const articulated_builder *b, const csv_table *t, int c)
{
  built_joint   *j = joint_of_column(b, t, c);
  double        *row;
  bool           is_good = true;
  const int      n       = (int)t->n_rows - 1;
  PetscFunctionBegin;
  if (!j) PetscFunctionReturn(PETSC_SUCCESS);
  j->has_course = true;
  PetscCall(memory_alloc("trajectory", 2 * (int64_t)n, sizeof *row, &row));
  for (int i = 0; i < n && is_good; ++i) {
    is_good = number_of(b, t, i + 1, 0, &row[2 * i]) && number_of(b, t, i + 1, c, &row[2 * i + 1]);
    if (is_good && i > 0 && !(row[2 * i] > row[2 * i - 2])) {
      diagnostics_add(b->d, (document_mark){b->spec->trajectory, i + 2, 1}, "t", "%g is not later than %g before it", row[2 * i], row[2 * i - 2]);
      is_good = false;
    }
  }
  const PetscErrorCode code = is_good ? expression_create_table(n, row, &j->course) : PETSC_SUCCESS;
  memory_free(&row);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode articulated_build_take_trajectory(const articulated_builder *b)
{
  const char          *file = b->spec->trajectory;
  const document_node *node = b->r->node;
  char                *text;
  int                  size = 0;
  csv_table            t    = {0};
  text_buffer          all  = {0};
  PetscFunctionBegin;
  if (!file) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(text_file_read(file, node, b->r->path, "trajectory", b->d, &text, &size));
  if (!text) PetscFunctionReturn(PETSC_SUCCESS);
  PetscErrorCode code = text_append(&all, text, (int64_t)strlen(text));
  if (!code && all.n > 0 && all.data[all.n - 1] != '\n') code = text_append(&all, "\n", 1); /* the last row counts */
  if (!code) code = csv_read(file, all.data ? all.data : "", &t);
  memory_free(&text);
  memory_free(&all.data);
  if (code && diagnostics_take(b->d, node, b->r->path, "trajectory", code)) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(code);
  if (t.n_columns > 0) ((char *)t.cell[t.n_columns - 1])[strcspn(t.cell[t.n_columns - 1], "\r")] = '\0';
  if (t.n_rows < 3 || t.n_columns < 2 || strcmp(t.cell[0], "t") != 0)
    diagnostics_add_under(b->d, node, b->r->path, "trajectory",
                          "%s is no table of joint positions: expected a first row t,JOINT,... and two rows of numbers or more", file);
  else
    for (int c = 1; c < t.n_columns && !code; ++c) code = take_column(b, &t, c);
  csv_clear(&t);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* What a joint with a column may not say besides. */
void articulated_build_check_course(const articulated_builder *b, const built_joint *j)
{
  const document_node *drive = NULL;
  if (!j->course) return;
  if (joint_type_rates((joint_type)j->s.type) != 1)
    COMPLAIN_JOINT(b, j, NULL, "has a column in %s, but is neither revolute nor prismatic", b->spec->trajectory);
  if (j->s.mimic) COMPLAIN_JOINT(b, j, "mimic", "it follows joint \"%s\", not a column in %s: leave out one of them", j->s.mimic->joint, b->spec->trajectory);
  static const char *const never[] = {"motion", "position"};
  for (size_t k = 0; k < sizeof never / sizeof *never; ++k)
    if (articulated_build_is_given(j, never[k]))
      COMPLAIN_JOINT(b, j, never[k], "its column in %s says so: leave out one of them", b->spec->trajectory);
  if (j->s.drive) drive = document_find(articulated_build_has_key(j->added, "drive") ? j->added : j->node, "drive");
  if (drive && document_find(drive, "target"))
    COMPLAIN_JOINT(b, j, "drive.target", "its column in %s says so: leave out one of them", b->spec->trajectory);
}

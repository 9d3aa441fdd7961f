/* What the elements of a URDF say, what they may say, and the same in the words of a job. */
#include "core/math3.h"
#include "discretize/articulated/articulated_urdf_impl.h"
#include <string.h>

/* ---- attributes ------------------------------------------------------------------------------------------------------ */

void urdf_name_of(const xml_element *e, size_t size, char *text)
{
  const char *own = xml_attribute(e, "name");
  if (!e->parent) {
    (void)snprintf(text, size, "urdf");
    return;
  }
  urdf_name_of(e->parent, size, text);
  const size_t used = strlen(text);
  (void)snprintf(text + used, size - used, ".%s%s%s", e->name, own ? "." : "", own ? own : "");
}

bool urdf_numbers(const urdf *u, const xml_element *e, const char *attribute, int n, double *out)
{
  const char *text = e ? xml_attribute(e, attribute) : NULL, *at = text;
  double      value[3];
  if (!text) return false;
  for (int k = 0; k < n; ++k) {
    char *end;
    value[k] = strtod(at, &end);
    if (end == at || !isfinite(value[k])) {
      COMPLAIN(u, e, "%s=\"%s\": expected %d finite number%s", attribute, text, n, n == 1 ? "" : "s");
      return false;
    }
    at = end;
  }
  if (at[strspn(at, " \t\r\n")]) {
    COMPLAIN(u, e, "%s=\"%s\": expected %d finite number%s, and nothing else", attribute, text, n, n == 1 ? "" : "s");
    return false;
  }
  memcpy(out, value, (size_t)n * sizeof *out);
  return true;
}

bool urdf_wanted(const urdf *u, const xml_element *e, const char *attribute, int n, double *out)
{
  if (!xml_attribute(e, attribute)) COMPLAIN(u, e, "has no attribute %s", attribute);
  return urdf_numbers(u, e, attribute, n, out);
}

static bool may_repeat(const char *name)
{
  static const char *const many[] = {"link", "joint", "material", "visual", "collision"};
  for (size_t k = 0; k < sizeof many / sizeof *many; ++k)
    if (strcmp(name, many[k]) == 0) return true;
  return false;
}

void urdf_check_words(const urdf *u, const xml_element *e, const char *const *children, const char *const *attributes)
{
  for (int k = 0; k < e->n; ++k) {
    int i = 0;
    while (children[i] && strcmp(children[i], e->child[k]->name) != 0) ++i;
    if (!children[i]) COMPLAIN(u, e->child[k], "<%s> has no meaning here: leave it out", e->child[k]->name);
    else if (!may_repeat(children[i]) && xml_child(e, children[i]) != e->child[k])
      COMPLAIN(u, e->child[k], "there is a <%s> already, in line %d: leave one out", children[i],
               xml_child(e, children[i])->mark.line);
  }
  for (int k = 0; k < e->n_attributes; ++k) {
    int i = 0;
    while (attributes[i] && strcmp(attributes[i], e->attribute[k]) != 0) ++i;
    if (!attributes[i]) COMPLAIN(u, e, "attribute %s has no meaning here: leave it out", e->attribute[k]);
  }
}

/* ---- poses ----------------------------------------------------------------------------------------------------------- */

/* Fixed axes: about x, then y, then z. */
static void rotation_rpy(const double rpy[3], double R[9])
{
  const double cr = cos(rpy[0]), sr = sin(rpy[0]), cp = cos(rpy[1]), sp = sin(rpy[1]), cy = cos(rpy[2]), sy = sin(rpy[2]);
  const double full[9] = {cy * cp,
                          cy * sp * sr - sy * cr,
                          cy * sp * cr + sy * sr,
                          sy * cp,
                          sy * sp * sr + cy * cr,
                          sy * sp * cr - cy * sr,
                          -sp,
                          cp * sr,
                          cp * cr};
  m3_copy(R, full);
}

urdf_pose urdf_origin_of(const urdf *u, const xml_element *e, const urdf_pose *base)
{
  const xml_element *o = xml_child(e, "origin");
  double             xyz[3] = {0, 0, 0}, rpy[3] = {0, 0, 0}, R[9];
  urdf_pose          out = {{0}, {0}};
  if (o) urdf_check_words(u, o, NO_WORDS, WORDS("xyz", "rpy"));
  (void)urdf_numbers(u, o, "xyz", 3, xyz);
  (void)urdf_numbers(u, o, "rpy", 3, rpy);
  rotation_rpy(rpy, R);
  m3_mul(out.R, base->R, R);
  m3_mulv(out.p, base->R, xyz);
  v3_axpy(out.p, 1.0, base->p);
  return out;
}

/* ---- writing our words ----------------------------------------------------------------------------------------------- */

PetscErrorCode urdf_put(const urdf *u, document_node *map, const xml_element *e, const char *key, document_node *value)
{
  return document_append(u->doc, map, key, e->mark, value);
}

PetscErrorCode urdf_put_text(const urdf *u, document_node *map, const xml_element *e, const char *key, const char *text)
{
  document_node *node;
  PetscFunctionBegin;
  PetscCall(document_add_node(u->doc, DOCUMENT_SCALAR, e->mark, text, &node));
  node->is_quoted = true;
  PetscCall(urdf_put(u, map, e, key, node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode urdf_put_numbers(const urdf *u, document_node *map, const xml_element *e, const char *key, int n, const double *x)
{
  char           text[400] = "";
  document_node *node;
  PetscFunctionBegin;
  for (int k = 0; k < n; ++k) {
    const size_t used = strlen(text);
    (void)snprintf(text + used, sizeof text - used, "%s%.17g%s",
                   k > 0   ? ", "
                   : n > 1 ? "["
                           : "",
                   x[k], n > 1 && k + 1 == n ? "]" : "");
  }
  PetscCall(document_read_flow(u->doc, text, e->mark, &node));
  PetscCall(urdf_put(u, map, e, key, node));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Defaults of key tables are written as one line of flow YAML. The folder knows no libyaml, so this reads the few
 * forms they need: plain and double-quoted scalars, [lists], {mappings}. */
#include "core/document.h"
#include <string.h>

typedef struct {
  document     *doc;
  const char   *all, *p;
  document_mark mark;
  int           depth;
} flow;

static PetscErrorCode flow_value(flow *f, document_node **out);

static void flow_skip(flow *f) { f->p += strspn(f->p, " "); }

static PetscErrorCode flow_scalar_text(flow *f, char *text, size_t size, bool *is_quoted)
{
  const char *start = f->p;
  size_t      n;

  PetscFunctionBegin;
  *is_quoted = *start == '"';
  if (*is_quoted) {
    n = strcspn(++start, "\"\\");
    PetscCheck(start[n] == '"', PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "default \"%s\": the quote is not closed", f->all);
    f->p = start + n + 1;
  } else {
    n    = f->depth ? strcspn(start, ",:[]{}\"") : strlen(start);
    f->p = start + n;
    while (n > 0 && start[n - 1] == ' ') --n;
    PetscCheck(n > 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "default \"%s\": a value is missing", f->all);
  }
  PetscCheck(n < size, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "default \"%s\": too long", f->all);
  memcpy(text, start, n);
  text[n] = 0;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode flow_collection(flow *f, document_node **out)
{
  const bool is_mapping = *f->p++ == '{';
  const char close = is_mapping ? '}' : ']';

  PetscFunctionBegin;
  ++f->depth;
  PetscCall(document_add_node(f->doc, is_mapping ? DOCUMENT_MAPPING : DOCUMENT_SEQUENCE, f->mark, NULL, out));
  for (flow_skip(f); *f->p != close; flow_skip(f)) {
    document_node *child;
    char           key[128];
    bool           is_quoted;
    if ((*out)->n > 0) {
      PetscCheck(*f->p == ',', PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "default \"%s\": expected , or %c", f->all, close);
      ++f->p;
      flow_skip(f);
    }
    if (is_mapping) {
      PetscCall(flow_scalar_text(f, key, sizeof key, &is_quoted));
      PetscCheck(*f->p == ':', PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "default \"%s\": expected : after %s", f->all, key);
      ++f->p;
    }
    PetscCall(flow_value(f, &child));
    PetscCall(document_append(f->doc, *out, is_mapping ? key : NULL, f->mark, child));
  }
  ++f->p;
  --f->depth;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode flow_value(flow *f, document_node **out)
{
  char text[256];
  bool is_quoted;

  PetscFunctionBegin;
  flow_skip(f);
  if (*f->p == '[' || *f->p == '{') {
    PetscCall(flow_collection(f, out));
  } else {
    PetscCall(flow_scalar_text(f, text, sizeof text, &is_quoted));
    PetscCall(document_add_node(f->doc, DOCUMENT_SCALAR, f->mark, text, out));
    (*out)->is_quoted = is_quoted;
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode document_read_flow(document *doc, const char *text, document_mark mark, document_node **out)
{
  flow f = {.doc = doc, .all = text, .p = text, .mark = mark};

  PetscFunctionBegin;
  if (!*text) { /* nothing at all is the empty text */
    PetscCall(document_add_node(doc, DOCUMENT_SCALAR, mark, text, out));
    (*out)->is_quoted = true;
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(flow_value(&f, out));
  flow_skip(&f);
  PetscCheck(*f.p == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "default \"%s\": something follows its end", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Implementation of xml.h: callbacks of expat build a tree of elements. */
#include "discretize/articulated/xml.h"
#include "core/memory.h"
#include "core/diagnostics.h"
#include <expat.h>
#include <string.h>

enum { DEEPEST = 100 };

typedef struct {
  XML_Parser     parser;
  document      *doc;
  const char    *file; /* kept by doc */
  xml_element   *root, *at;
  int            depth;
  PetscErrorCode code;
  bool           is_too_deep, is_declared;
} reading;

/* Append a child; the capacity doubles. */
static PetscErrorCode xml_append(reading *r, xml_element *parent, xml_element *child)
{
  PetscFunctionBegin;
  if ((parent->n & (parent->n - 1)) == 0) {
    xml_element **more;
    PetscCall(document_alloc(r->doc, (size_t)(parent->n > 0 ? 2 * parent->n : 1) * sizeof(xml_element *), &more));
    if (parent->n > 0) memcpy(more, parent->child, (size_t)parent->n * sizeof *more);
    parent->child = more;
  }
  parent->child[parent->n++] = child;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode open_element(reading *r, const char *name, const char **attributes)
{
  xml_element *e;
  PetscFunctionBegin;
  PetscCall(document_alloc(r->doc, sizeof *e, &e));
  while (attributes[2 * e->n_attributes]) ++e->n_attributes;
  PetscCall(document_alloc(r->doc, (size_t)(e->n_attributes + 1) * sizeof(char *), &e->attribute));
  PetscCall(document_alloc(r->doc, (size_t)(e->n_attributes + 1) * sizeof(char *), &e->text));
  e->name   = document_intern(r->doc, name);
  e->parent = r->at;
  e->mark   = (document_mark){r->file, (int)XML_GetCurrentLineNumber(r->parser), (int)XML_GetCurrentColumnNumber(r->parser) + 1};
  for (int k = 0; k < e->n_attributes; ++k) {
    e->attribute[k] = document_intern(r->doc, attributes[2 * k]);
    e->text[k]      = document_intern(r->doc, attributes[2 * k + 1]);
    PetscCheck(e->attribute[k] && e->text[k], PETSC_COMM_SELF, PETSC_ERR_MEM,
               "out of memory: no space for %s; use a smaller scene or a larger machine", r->file);
  }
  PetscCheck(e->name, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for %s; use a smaller scene or a larger machine", r->file);
  if (r->at) PetscCall(xml_append(r, r->at, e));
  else r->root = e;
  r->at = e;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static void on_start(void *context, const XML_Char *name, const XML_Char **attributes)
{
  reading *r     = context;
  r->is_too_deep = ++r->depth > DEEPEST;
  r->code        = r->is_too_deep ? PETSC_SUCCESS : open_element(r, name, attributes);
  if (r->code || r->is_too_deep) (void)XML_StopParser(r->parser, XML_FALSE);
}

static void on_end(void *context, const XML_Char *name)
{
  reading *r = context;
  (void)name;
  --r->depth;
  if (r->at) r->at = r->at->parent; /* r->at is NULL if there was no memory for the root and the parser has not stopped yet */
}

/* Reject document types, since they can define entities and no URDF needs one. */
static void on_doctype(void *context, const XML_Char *name, const XML_Char *system, const XML_Char *public_id, int has_subset)
{
  reading *r = context;
  (void)name, (void)system, (void)public_id, (void)has_subset;
  r->is_declared = true;
  (void)XML_StopParser(r->parser, XML_FALSE);
}

PetscErrorCode xml_read(const char *file, document *doc, const document_node *node, const char *path, const char *key, diagnostics *d,
                        xml_element **root)
{
  char *text;
  int   n = 0;
  PetscFunctionBegin;
  *root = NULL;
  PetscCall(diagnostics_read_file(file, node, path, key, d, &text, &n));
  if (!text) PetscFunctionReturn(PETSC_SUCCESS);
  reading r = {.doc = doc, .file = document_intern(doc, file), .parser = XML_ParserCreate(NULL)};
  if (!r.parser || !r.file) {
    if (r.parser) XML_ParserFree(r.parser);
    memory_free(&text);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for %s; use a smaller scene or a larger machine", file);
  }
  XML_SetUserData(r.parser, &r);
  XML_SetElementHandler(r.parser, on_start, on_end);
  XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
  const bool          is_read = XML_Parse(r.parser, text, n, 1) == XML_STATUS_OK;
  const document_mark mark    = {r.file, (int)XML_GetCurrentLineNumber(r.parser), (int)XML_GetCurrentColumnNumber(r.parser) + 1};
  const char         *why     = XML_ErrorString(XML_GetErrorCode(r.parser));
  if (r.is_declared) diagnostics_add(d, mark, NULL, "a document type declaration (<!DOCTYPE) is not supported; remove it");
  else if (r.is_too_deep) diagnostics_add(d, mark, NULL, "elements are nested more than %d deep; simplify the file", DEEPEST);
  else if (!is_read && !r.code) diagnostics_add(d, mark, NULL, "is not XML: %s", why);
  XML_ParserFree(r.parser);
  memory_free(&text);
  PetscCall(r.code);
  if (is_read) *root = r.root;
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *xml_attribute(const xml_element *e, const char *name)
{
  for (int k = 0; k < e->n_attributes; ++k)
    if (strcmp(e->attribute[k], name) == 0) return e->text[k];
  return NULL;
}

const xml_element *xml_child(const xml_element *e, const char *name)
{
  for (int k = 0; k < e->n; ++k)
    if (strcmp(e->child[k]->name, name) == 0) return e->child[k];
  return NULL;
}

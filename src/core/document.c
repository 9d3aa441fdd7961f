/* Tree of a parsed YAML document, see document.h. */
#include "core/document.h"
#include <string.h>
#include "core/memory.h"
#include "core/text.h"

/* Nodes and texts are allocated from blocks. Blocks form a linked list and are freed together with the document. */
typedef struct block block;
struct block {
  block *next;
  size_t used, size;
};
enum { BLOCK_HEADER = 64, BLOCK_SIZE = 32768 - BLOCK_HEADER, ALIGNMENT = 16, MAX_OVERRIDE_DEPTH = 64 };

struct document {
  block         *blocks; /* newest first */
  document_node *root;
};

PetscErrorCode document_create(document **out) { return memory_alloc("document", 1, sizeof **out, out); }

void document_destroy(document **doc)
{
  if (!*doc) return;
  for (block *b = (*doc)->blocks; b;) {
    block *next = b->next;
    memory_free(&b);
    b = next;
  }
  memory_free(doc);
}

PetscErrorCode document_alloc(document *doc, size_t bytes, void *out)
{
  const size_t need = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
  block       *b    = doc->blocks;

  PetscFunctionBegin;
  if (!b || b->size - b->used < need) {
    const size_t size  = need > BLOCK_SIZE ? need : BLOCK_SIZE;
    block       *fresh = NULL;
    PetscCall(memory_alloc("document block", (int64_t)(BLOCK_HEADER + size), 1, &fresh));
    fresh->size = size;
    /* a block for one large piece goes behind the current one, which may still have room */
    if (b && need > BLOCK_SIZE) fresh->next = b->next, b->next = fresh;
    else fresh->next = b, doc->blocks = fresh;
    b = fresh;
  }
  *(void **)out = (char *)b + BLOCK_HEADER + b->used; /* memory_alloc zeroed it */
  b->used += need;
  PetscFunctionReturn(PETSC_SUCCESS);
}

document_node *document_root(const document *doc) { return doc->root; }

void document_set_root(document *doc, document_node *root) { doc->root = root; }

const char *document_intern(document *doc, const char *text)
{
  const size_t n = strlen(text) + 1; /* NOLINT(clang-analyzer-core.NonNullParamChecker): entries of mappings have keys */
  char        *copy;
  if (document_alloc(doc, n, &copy)) return NULL;
  memcpy(copy, text, n);
  return copy;
}

PetscErrorCode document_add_node(document *doc, document_kind kind, document_mark mark, const char *text, document_node **out)
{
  PetscFunctionBegin;
  SS_ASSERT((kind == DOCUMENT_SCALAR) == (text != NULL));
  PetscCall(document_alloc(doc, sizeof **out, out));
  (*out)->kind = kind;
  (*out)->mark = mark;
  if (text) {
    (*out)->text = document_intern(doc, text);
    PetscCheck((*out)->text, PETSC_COMM_SELF, PETSC_ERR_MEM,
               "out of memory: no space for a text of the document; use a smaller scene or a larger machine");
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static uint32_t hash_key(const char *key, size_t n) /* FNV-1a */
{
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < n; ++i) hash = (hash ^ (uint8_t)key[i]) * 16777619u;
  return hash;
}

/* Add child i of a mapping to its hash table. The first of equal keys is found first. */
static void index_key(document_node *mapping, int i)
{
  if (mapping->n_index == 0) return;
  const uint32_t last = (uint32_t)mapping->n_index - 1;
  uint32_t       at   = hash_key(mapping->key[i], strlen(mapping->key[i])) & last;
  while (mapping->index[at] != 0) at = (at + 1) & last;
  mapping->index[at] = i + 1;
}

enum { LARGE_MAPPING = 32 }; /* smaller ones have no hash table */

/* Room for one child more. Capacity is not stored: it is the power of two (at least 4) that n has filled. */
static PetscErrorCode node_grow(document *doc, document_node *parent)
{
  const int n = parent->n;

  PetscFunctionBegin;
  if (n == 0 || (n >= 4 && (n & (n - 1)) == 0)) {
    const size_t    room = n == 0 ? 4 : 2 * (size_t)n;
    document_node **value;
    PetscCall(document_alloc(doc, room * sizeof *value, &value));
    if (n) memcpy(value, parent->value, (size_t)n * sizeof *value);
    parent->value = value;
    if (parent->kind == DOCUMENT_MAPPING) {
      const char   **key;
      document_mark *key_mark;
      PetscCall(document_alloc(doc, room * sizeof *key, &key));
      PetscCall(document_alloc(doc, room * sizeof *key_mark, &key_mark));
      if (n) {
        memcpy(key, parent->key, (size_t)n * sizeof *key);
        memcpy(key_mark, parent->key_mark, (size_t)n * sizeof *key_mark);
      }
      parent->key      = key;
      parent->key_mark = key_mark;
      if (room > LARGE_MAPPING) {
        PetscCall(document_alloc(doc, 2 * room * sizeof *parent->index, &parent->index));
        parent->n_index = (int)(2 * room);
        for (int i = 0; i < n; ++i) index_key(parent, i);
      }
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode document_append(document *doc, document_node *parent, const char *key, document_mark key_mark, document_node *child)
{
  PetscFunctionBegin;
  SS_ASSERT(parent->kind == DOCUMENT_MAPPING ? key != NULL : parent->kind == DOCUMENT_SEQUENCE);
  PetscCall(node_grow(doc, parent));
  if (parent->kind == DOCUMENT_MAPPING) {
    parent->key[parent->n] = document_intern(doc, key);
    PetscCheck(parent->key[parent->n], PETSC_COMM_SELF, PETSC_ERR_MEM,
               "out of memory: no space for a key of the document; use a smaller scene or a larger machine");
    parent->key_mark[parent->n] = key_mark;
    index_key(parent, parent->n);
  }
  parent->value[parent->n++] = child;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode document_copy(document *doc, const document_node *node, document_node **out)
{
  document_node *copy;

  PetscFunctionBegin;
  PetscCall(document_add_node(doc, node->kind, node->mark, node->text, &copy));
  copy->is_quoted = node->is_quoted;
  for (int i = 0; i < node->n; ++i) {
    const bool     has_key = node->kind == DOCUMENT_MAPPING;
    document_node *child;
    PetscCall(document_copy(doc, node->value[i], &child));
    PetscCall(document_append(doc, copy, has_key ? node->key[i] : NULL, has_key ? node->key_mark[i] : node->mark, child));
  }
  *out = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static int find_index(const document_node *mapping, const char *key, size_t n_key)
{
  if (mapping->kind != DOCUMENT_MAPPING) return -1;
#define IS_KEY(i) (!strncmp(mapping->key[i], key, n_key) && mapping->key[i][n_key] == 0)
  if (mapping->n_index > 0) {
    const uint32_t last = (uint32_t)mapping->n_index - 1;
    for (uint32_t at = hash_key(key, n_key) & last; mapping->index[at] != 0; at = (at + 1) & last)
      if (IS_KEY(mapping->index[at] - 1)) return mapping->index[at] - 1;
    return -1;
  }
  for (int i = 0; i < mapping->n; ++i)
    if (IS_KEY(i)) return i;
#undef IS_KEY
  return -1;
}

void document_remove(document_node *parent, int i)
{
  const bool is_mapping = parent->kind == DOCUMENT_MAPPING;
  for (int k = i; k + 1 < parent->n; ++k) {
    parent->value[k] = parent->value[k + 1];
    if (is_mapping) parent->key[k] = parent->key[k + 1], parent->key_mark[k] = parent->key_mark[k + 1];
  }
  --parent->n;
  if (parent->n_index > 0) memset(parent->index, 0, (size_t)parent->n_index * sizeof *parent->index);
  for (int k = 0; k < parent->n && parent->n_index > 0; ++k) index_key(parent, k);
}

const document_node *document_find(const document_node *mapping, const char *key)
{
  const int i = mapping ? find_index(mapping, key, strlen(key)) : -1;
  return i < 0 ? NULL : mapping->value[i];
}

/* ---- overrides: one step of the path at a time ---- */

/* The node at one step of a path; created (as NULL) if it does not exist. */
static PetscErrorCode step_key(document *doc, document_node *at, const char *path, const char *key, size_t n_key, document_mark mark,
                               document_node ***slot)
{
  const int upto = (int)(key + n_key - path);

  PetscFunctionBegin;
  if (at->kind == DOCUMENT_NULL) at->kind = DOCUMENT_MAPPING;
  PetscCheck(at->kind == DOCUMENT_MAPPING, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
             "--set %s: the value before \"%.*s\" is not a mapping, so it has no keys", path, (int)n_key, key);
  int i = find_index(at, key, n_key);
  if (i < 0) {
    document_node *made;
    char           name[256];
    PetscCheck(n_key < sizeof name, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "--set %.*s: a part of this key has more than %d characters; correct the key", upto, path, (int)sizeof name - 1);
    memcpy(name, key, n_key);
    name[n_key] = 0;
    PetscCall(document_add_node(doc, DOCUMENT_NULL, mark, NULL, &made));
    i = at->n;
    PetscCall(document_append(doc, at, name, mark, made));
  }
  at->key_mark[i] = mark;
  *slot           = &at->value[i];
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode step_index(document *doc, document_node *at, const char *path, const char **p, document_mark mark,
                                 document_node ***slot)
{
  const char *c = *p + 1;
  int64_t     i = 0;

  PetscFunctionBegin;
  const bool appends = *c == ']';
  PetscCheck(appends || (*c >= '0' && *c <= '9'), PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "--set %s: expected a number after \"[\"", path);
  for (; *c >= '0' && *c <= '9'; ++c) i = i < 1000000000 ? 10 * i + (*c - '0') : i;
  PetscCheck(*c == ']', PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "--set %s: expected \"]\" after the number", path);
  if (at->kind == DOCUMENT_NULL) at->kind = DOCUMENT_SEQUENCE;
  PetscCheck(at->kind == DOCUMENT_SEQUENCE, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "--set %s: \"%.*s\" is not a list, so it has no entries",
             path, (int)(*p - path), path);
  if (appends) i = at->n;
  PetscCheck(i <= at->n, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "--set %s: the list has %d entries, counted from 0, and no entry %lld",
             path, at->n, (long long)i);
  if (i == at->n) {
    document_node *made;
    PetscCall(document_add_node(doc, DOCUMENT_NULL, mark, NULL, &made));
    PetscCall(document_append(doc, at, NULL, mark, made));
  }
  *slot = &at->value[i];
  *p    = c + 1;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode document_override(document *doc, const char *path, document_node *value)
{
  const char     *p     = path;
  document_node **slot  = &doc->root;
  int             depth = 0;

  PetscFunctionBegin;
  if (!doc->root) PetscCall(document_add_node(doc, DOCUMENT_NULL, value->mark, NULL, &doc->root));
  do {
    const size_t n_key = strcspn(p, ".[]");
    PetscCheck(n_key > 0, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT,
               "--set %s: expected a key at position %d; write it like time.end or contact.pairs[0].friction", path, (int)(p - path) + 1);
    PetscCall(step_key(doc, *slot, path, p, n_key, value->mark, &slot));
    p += n_key;
    while (*p == '[') PetscCall(step_index(doc, *slot, path, &p, value->mark, &slot));
    PetscCheck(*p == 0 || *p == '.', PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "--set %s: expected \".\" or the end at position %d", path,
               (int)(p - path) + 1);
    PetscCheck(++depth <= MAX_OVERRIDE_DEPTH, PETSC_COMM_SELF, PETSC_ERR_USER_INPUT, "--set: the path is nested too deeply; shorten it");
  } while (*p++ == '.');
  *slot = value;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Defaults of key tables are written as one line of flow YAML. core does not depend on libyaml, so this reads the few forms they
 * need: plain and double-quoted scalars, [lists], {mappings}. */

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
  const char close      = is_mapping ? '}' : ']';

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
  PetscCheck(*f.p == 0, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "default \"%s\": unexpected text after the value", text);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Documents as YAML text: block style, quoted only where plain text would read differently. */

/* Would YAML read this back as the same plain scalar, in block context and as a key? */
static bool is_plain(const char *s)
{
  static const char *const reserved[] = {"~", "null", "Null", "NULL", "<<", "="};
  const size_t             n          = strlen(s);
  if (n == 0 || n > 200 || strchr(" -?:,[]{}#&*!|>'\"%@`", s[0]) || s[n - 1] == ' ' || s[n - 1] == ':') {
    const bool is_negative = n > 1 && n <= 200 && s[0] == '-' && ((s[1] >= '0' && s[1] <= '9') || s[1] == '.');
    if (!is_negative || s[n - 1] == ' ' || s[n - 1] == ':') return false;
  }
  if (!strncmp(s, "...", 3)) return false;
  for (size_t i = 0; i < sizeof reserved / sizeof *reserved; ++i)
    if (!strcmp(s, reserved[i])) return false;
  for (size_t i = 0; i < n; ++i) {
    if (s[i] < 0x20 || s[i] > 0x7e) return false; /* also everything beyond ASCII */
    if ((s[i] == ':' && s[i + 1] == ' ') || (s[i] == '#' && s[i - 1] == ' ')) return false;
  }
  return true;
}

/* Decode one UTF-8 character; an invalid byte represents itself. Returns its length. */
static int decode(const unsigned char *s, unsigned *code)
{
  const int n = s[0] < 0xc2 ? 1 : s[0] < 0xe0 ? 2 : s[0] < 0xf0 ? 3 : s[0] < 0xf5 ? 4 : 1;
  *code       = n == 1 ? s[0] : s[0] & (0xffu >> (n + 1));
  for (int i = 1; i < n; ++i) {
    if ((s[i] & 0xc0) != 0x80) {
      *code = s[0];
      return 1;
    }
    *code = *code << 6 | (s[i] & 0x3fu);
  }
  return n;
}

static void write_quoted(text_buffer *b, const char *text)
{
  text_put(b, "\"");
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    unsigned  code;
    const int n = decode(s, &code);
    if (code == '"' || code == '\\') text_printf(b, "\\%c", (char)code);
    else if (code == '\n') text_put(b, "\\n");
    else if (code >= 0x20 && code < 0x7f) text_append(b, (const char *)s, 1);
    else text_printf(b, code < 0x100 ? "\\x%02X" : code < 0x10000 ? "\\u%04X" : "\\U%08X", code);
    s += n;
  }
  text_put(b, "\"");
}

static void write_text(text_buffer *b, const char *text, bool is_quoted)
{
  if (!is_quoted && is_plain(text)) text_put(b, text);
  else write_quoted(b, text);
}

static void write_flow(text_buffer *b, const document_node *node)
{
  const bool is_mapping = node->kind == DOCUMENT_MAPPING;
  if (node->kind == DOCUMENT_NULL) {
    text_put(b, "null");
  } else if (node->kind == DOCUMENT_SCALAR) {
    write_text(b, node->text, node->is_quoted || strpbrk(node->text, ",[]{}"));
  } else {
    text_append(b, is_mapping ? "{" : "[", 1);
    for (int i = 0; i < node->n; ++i) {
      if (i) text_put(b, ", ");
      if (is_mapping) {
        write_text(b, node->key[i], strpbrk(node->key[i], ",[]{}"));
        text_put(b, ": ");
      }
      write_flow(b, node->value[i]);
    }
    text_append(b, is_mapping ? "}" : "]", 1);
  }
}

static void write_node(text_buffer *b, const document_node *node, int indent)
{
  if (node->kind == DOCUMENT_NULL) {
    text_put(b, " null\n");
  } else if (node->kind == DOCUMENT_SCALAR) {
    text_put(b, " ");
    write_text(b, node->text, node->is_quoted);
    text_put(b, "\n");
  } else if (node->n == 0) {
    text_append(b, node->kind == DOCUMENT_MAPPING ? " {}\n" : " []\n", 4);
  } else {
    if (indent) text_put(b, "\n");
    for (int i = 0; i < node->n; ++i) {
      text_printf(b, "%*s", indent, "");
      if (node->kind == DOCUMENT_MAPPING) {
        write_text(b, node->key[i], false);
        text_put(b, ":");
      } else {
        text_put(b, "-");
      }
      write_node(b, node->value[i], indent + 2);
    }
  }
}

PetscErrorCode document_write(const document_node *node, char **text)
{
  text_buffer b = {0};

  PetscFunctionBegin;
  write_node(&b, node, 0);
  PetscCall(text_take(&b, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode document_write_flow(const document_node *node, char **text)
{
  text_buffer b = {0};

  PetscFunctionBegin;
  write_flow(&b, node);
  PetscCall(text_take(&b, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

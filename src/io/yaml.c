/* Reader of YAML files, see yaml.h: files and includes, events of libyaml, merge keys. */
#include "io/yaml.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>
#include <yaml.h>
#include "core/memory.h"
#include "core/regular_file.h"

/* Hash table of names with an index each. It finds duplicate keys and merges in linear time, also in malicious files with large mappings. */

/* Zero-initialise, end with yaml_names_clear. Names are borrowed. */
typedef struct {
  int          n, capacity;
  const char **name; /* [capacity], open addressing */
  int         *index;
} yaml_names;

/* FNV-1a, its high bits mixed down. */
static uint64_t names_hash(const char *s)
{
  uint64_t h = 14695981039346656037u;
  for (; *s; ++s) h = (h ^ (unsigned char)*s) * 1099511628211u;
  return (h ^ h >> 29) * 0xbf58476d1ce4e5b9u >> 20;
}

static int names_slot(const yaml_names *set, const char *name)
{
  int i = (int)(names_hash(name) & (uint64_t)(set->capacity - 1));
  while (set->name[i] && strcmp(set->name[i], name)) i = (i + 1) & (set->capacity - 1);
  return i;
}

/* Index of a name; -1: none. */
static int yaml_names_find(const yaml_names *set, const char *name)
{
  if (set->capacity == 0) return -1;
  const int i = names_slot(set, name);
  return set->name[i] ? set->index[i] : -1;
}

static void yaml_names_clear(yaml_names *set)
{
  MEMORY_FREE(&set->name, &set->index);
  set->n = set->capacity = 0;
}

static PetscErrorCode names_grow(yaml_names *set)
{
  yaml_names larger = {.n = set->n, .capacity = set->capacity ? 2 * set->capacity : 16};

  PetscFunctionBegin;
  PetscCall(MEMORY_ALLOC("YAML keys", ARRAY(larger.name, larger.capacity), ARRAY(larger.index, larger.capacity)));
  for (int i = 0; i < set->capacity; ++i) {
    if (!set->name[i]) continue;
    const int to     = names_slot(&larger, set->name[i]);
    larger.name[to]  = set->name[i];
    larger.index[to] = set->index[i];
  }
  yaml_names_clear(set);
  *set = larger;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Put name -> index unless the name is there; *found is the index that was there, or -1. */
static PetscErrorCode yaml_names_put(yaml_names *set, const char *name, int index, int *found)
{
  PetscFunctionBegin;
  *found = yaml_names_find(set, name);
  if (*found >= 0) PetscFunctionReturn(PETSC_SUCCESS);
  if (2 * (set->n + 1) > set->capacity) PetscCall(names_grow(set));
  const int i   = names_slot(set, name);
  set->name[i]  = name;
  set->index[i] = index;
  ++set->n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The files of a document and their includes. */

typedef struct yaml_file yaml_file;
struct yaml_file {
  const char      *name;  /* owned by the document, as printed in diagnostics */
  char            *bytes; /* memory_free, if loaded */
  size_t           n;
  dev_t            device; /* identity of the file, to find circular includes; 0, 0 for a text */
  ino_t            inode;
  const yaml_file *parent; /* the file that includes this one */
};

static const char *load_failed(document *doc, int code) { return document_intern(doc, strerror(code)); }

/* Load a whole file of at most `limit` bytes. *problem: NULL or the reason in words (static or owned by doc). Pipes and
 * devices are rejected, because reading them could wait forever. */
static PetscErrorCode yaml_file_load(document *doc, const char *name, size_t limit, yaml_file *file, const char **problem)
{
  struct stat about;
  const char *why;
  const int   fd       = regular_file_open(name, O_RDONLY, &why);
  size_t      capacity = 65536;

  PetscFunctionBegin;
  *problem    = NULL;
  file->bytes = NULL;
  file->n     = 0;
  if (fd < 0) {
    *problem = document_intern(doc, why);
  } else if (fstat(fd, &about)) {
    *problem = load_failed(doc, errno);
  } else {
    file->device = about.st_dev;
    file->inode  = about.st_ino;
    /* the reported length may be wrong: read to the end of the file or one byte over the limit */
    for (ssize_t got = 1; got > 0 && file->n <= limit;) {
      if (!file->bytes || file->n == capacity) {
        capacity                  = file->bytes ? 2 * capacity : capacity;
        const PetscErrorCode code = memory_resize("YAML file", (int64_t)capacity, 1, &file->bytes);
        if (code) {
          close(fd);
          memory_free(&file->bytes);
          PetscCall(code);
        }
      }
      got = read(fd, file->bytes + file->n, capacity - file->n);
      if (got > 0) file->n += (size_t)got;
      else if (got < 0 && errno == EINTR) got = 1;
      else if (got < 0) *problem = load_failed(doc, errno);
    }
    if (!*problem && file->n > limit) *problem = "it is larger than 256 MiB, the limit for jobs; shorten it";
  }
  if (fd >= 0) close(fd);
  if (*problem) memory_free(&file->bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The name of `target` seen from the folder of `from`; NULL if memory is out. */
static const char *yaml_file_relative(document *doc, const char *from, const char *target)
{
  const char  *slash = strrchr(from, '/');
  const size_t n     = slash && target[0] != '/' ? (size_t)(slash - from) + 1 : 0;
  char        *name;
  if (document_alloc(doc, n + strlen(target) + 1, &name)) return NULL;
  memcpy(name, from, n);
  strcpy(name + n, target);
  return name;
}

/* Counters over a file and all its includes. */

typedef struct {
  document    *doc;
  diagnostics *d;
  int64_t      n_nodes;
  int          n_includes, depth;
  size_t       n_bytes;
  bool         is_over; /* a limit was exceeded and reported: stop without further messages */
} budget;

typedef struct {
  const char    *name;
  document_node *node;
  bool           is_open; /* still being built: an alias to it is a circle */
} anchor;

/* One file being parsed. */
typedef struct {
  budget          *b;
  const yaml_file *file;
  yaml_parser_t    parser;
  yaml_event_t     event; /* the current one; owned */
  bool             has_event;
  bool             is_broken; /* libyaml gave up, or a limit was hit */
  yaml_names       anchor_index;
  int              n_anchors, anchor_capacity;
  anchor          *anchors;
} reader;

static PetscErrorCode read_node(reader *r, document_node **out);
static PetscErrorCode read_stream(budget *b, const yaml_file *file, document_node **out);

static document_mark mark_of(const reader *r, yaml_mark_t m)
{
  return (document_mark){r->file->name, m.line < INT32_MAX ? (int)m.line + 1 : INT32_MAX,
                         m.column < INT32_MAX ? (int)m.column + 1 : INT32_MAX};
}

/* A limit is exceeded: report it once, and stop reading. */
static void abort_reading(reader *r, document_mark mark, const char *what)
{
  if (!r->b->is_over) diagnostics_add(r->b->d, mark, NULL, "%s", what);
  r->b->is_over = r->is_broken = true;
}

/* ---- libyaml's errors ---- */

/* Encoding errors carry a byte offset alone. */
static document_mark mark_of_offset(const reader *r, size_t offset)
{
  document_mark m = {r->file->name, 1, 1};
  for (size_t i = 0; i < offset && i < r->file->n; ++i) {
    if (r->file->bytes[i] == '\n') ++m.line, m.column = 1;
    else if (((unsigned char)r->file->bytes[i] & 0xc0) != 0x80) ++m.column;
  }
  return m;
}

static bool is_tab_at(const reader *r, yaml_mark_t at)
{
  const char *p = r->file->bytes, *end = p + r->file->n;
  for (size_t line = 0; line < at.line && p < end; ++line) {
    const char *next = memchr(p, '\n', (size_t)(end - p));
    p                = next ? next + 1 : end;
  }
  for (; p < end && (*p == ' ' || *p == '\t'); ++p)
    if (*p == '\t') return true;
  return false;
}

/* Search the lines first ... last (counted from 0) for a key without colon, or without space after its colon. Returns a text for the end of the error
 * message, valid until the next call; "": none found. */
static const char *find_mistake(const reader *r, size_t first, size_t last)
{
  static char hint[200];
  const char *p = r->file->bytes, *end = p + r->file->n;
  for (size_t line = 0; p < end && line <= last; ++line) {
    const char  *next = memchr(p, '\n', (size_t)(end - p)), *stop = next ? next : end;
    const size_t n = (size_t)(stop - p);
    size_t       i = 0, w;
    while (i < n && (p[i] == ' ' || p[i] == '-' || p[i] == '{')) ++i;
    for (w = i; w < n && (isalnum((unsigned char)p[w]) || p[w] == '_'); ++w) continue;
    const char *colon = memchr(p + i, ':', n - i), *word = p + i;
    p = next ? next + 1 : end;
    if (line < first || w == i || !isalpha((unsigned char)*word)) continue;
    const int n_word = (int)(w - i < 40 ? w - i : 40), n_rest = (int)(n - w < 60 ? n - w : 60);
    hint[0] = 0;
    if (colon == word + (w - i) && w + 1 < n && colon[1] != ' ' && colon[1] != '\r')
      snprintf(hint, sizeof hint, "; line %zu: a space must follow the colon: \"%.*s: %.*s\"", line + 1, n_word, word, n_rest - 1,
               colon + 1);
    else if (!colon && w == n) snprintf(hint, sizeof hint, "; line %zu may lack a colon: \"%.*s:\"", line + 1, n_word, word);
    else if (!colon && word[w - i] == ' ')
      snprintf(hint, sizeof hint, "; line %zu may lack a colon: \"%.*s:%.*s\"", line + 1, n_word, word, n_rest, word + (w - i));
    if (hint[0]) return hint;
  }
  return "";
}

static void explain_failure(reader *r)
{
  const yaml_parser_t *p       = &r->parser;
  const char          *problem = p->problem ? p->problem : "cannot be parsed";
  r->is_broken                 = true;
  if (p->error == YAML_READER_ERROR) {
    if (p->problem_value >= 0)
      diagnostics_add(r->b->d, mark_of_offset(r, p->problem_offset), NULL, "%s (0x%02X)", problem, (unsigned)p->problem_value);
    else diagnostics_add(r->b->d, mark_of_offset(r, p->problem_offset), NULL, "%s", problem);
  } else if (p->error == YAML_MEMORY_ERROR) {
    diagnostics_add(r->b->d, (document_mark){0}, NULL, "out of memory while reading %s; shorten the file or use a larger machine",
                    r->file->name);
  } else if (is_tab_at(r, p->problem_mark)) {
    diagnostics_add(r->b->d, mark_of(r, p->problem_mark), NULL, "YAML error: %s; a tab cannot indent, use spaces", problem);
  } else if (p->context) {
    const char *hint = find_mistake(r, p->context_mark.line, p->problem_mark.line);
    diagnostics_add(r->b->d, mark_of(r, p->problem_mark), NULL, "YAML error: %s (%s that began in line %zu)%s", problem, p->context,
                    p->context_mark.line + 1, hint);
  } else {
    const size_t line = p->problem_mark.line;
    diagnostics_add(r->b->d, mark_of(r, p->problem_mark), NULL, "YAML error: %s%s", problem,
                    find_mistake(r, line > 0 ? line - 1 : 0, line));
  }
}

static void next_event(reader *r)
{
  if (r->has_event) yaml_event_delete(&r->event);
  r->has_event = false;
  if (r->is_broken) return;
  if (yaml_parser_parse(&r->parser, &r->event)) r->has_event = true;
  else explain_failure(r);
}

/* ---- nodes ---- */

static PetscErrorCode add_node(reader *r, document_kind kind, document_mark mark, const char *text, document_node **out)
{
  PetscFunctionBegin;
  *out = NULL;
  if (++r->b->n_nodes > YAML_MAX_NODES + (int64_t)r->b->n_bytes)
    abort_reading(r, mark, "the job is too large: too many values, once aliases and merges are written out");
  else PetscCall(document_add_node(r->b->doc, kind, mark, text, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode add_copy(reader *r, const document_node *node, document_mark used_at, int depth, document_node **out)
{
  document_node *copy;

  PetscFunctionBegin;
  *out = NULL;
  if (depth > YAML_MAX_DEPTH) {
    abort_reading(r, used_at, "nested too deeply");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  /* texts are shared, not copied: the node limit then bounds memory, too */
  PetscCall(add_node(r, node->kind == DOCUMENT_SCALAR ? DOCUMENT_NULL : node->kind, node->mark, NULL, &copy));
  if (!copy) PetscFunctionReturn(PETSC_SUCCESS);
  copy->kind      = node->kind;
  copy->text      = node->text;
  copy->is_quoted = node->is_quoted;
  for (int i = 0; i < node->n; ++i) {
    const bool     has_key = node->kind == DOCUMENT_MAPPING;
    document_node *child;
    PetscCall(add_copy(r, node->value[i], used_at, depth + 1, &child));
    if (!child) PetscFunctionReturn(PETSC_SUCCESS);
    PetscCall(document_append(r->b->doc, copy, has_key ? node->key[i] : NULL, has_key ? node->key_mark[i] : node->mark, child));
  }
  *out = copy;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode remember_anchor(reader *r, const yaml_char_t *name, document_node *node, int *i)
{
  int found;

  PetscFunctionBegin;
  *i = -1;
  if (!name) PetscFunctionReturn(PETSC_SUCCESS);
  const char *copy = document_intern(r->b->doc, (const char *)name);
  PetscCheck(copy, PETSC_COMM_SELF, PETSC_ERR_MEM, "out of memory: no space for an anchor; use a smaller scene or a larger machine");
  PetscCall(yaml_names_put(&r->anchor_index, copy, r->n_anchors, &found));
  if (found < 0) {
    if (r->n_anchors == r->anchor_capacity) {
      const int capacity = r->anchor_capacity ? 2 * r->anchor_capacity : 16;
      PetscCall(memory_resize("YAML anchors", capacity, sizeof *r->anchors, &r->anchors));
      r->anchor_capacity = capacity;
    }
    found = r->n_anchors++;
  }
  r->anchors[found] = (anchor){copy, node, true}; /* an anchor may be set again: the last one counts */
  *i                = found;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_alias(reader *r, document_node **out)
{
  const char         *name = (const char *)r->event.data.alias.anchor;
  const document_mark mark = mark_of(r, r->event.start_mark);
  const int           i    = yaml_names_find(&r->anchor_index, name);

  PetscFunctionBegin;
  if (i < 0) diagnostics_add(r->b->d, mark, NULL, "the anchor \"&%.100s\" is not defined before this alias; define it above", name);
  else if (r->anchors[i].is_open) diagnostics_add(r->b->d, mark, NULL, "the alias \"*%.100s\" is inside its own anchor; remove it", name);
  if (i < 0 || r->anchors[i].is_open) PetscCall(add_node(r, DOCUMENT_NULL, mark, NULL, out));
  else PetscCall(add_copy(r, r->anchors[i].node, mark, r->b->depth, out));
  next_event(r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- scalars, tags, includes ---- */

static PetscErrorCode read_include(reader *r, document_mark mark, const char *target, document_node **out)
{
  yaml_file   file    = {.parent = r->file};
  const char *problem = NULL;

  PetscFunctionBegin;
  *out      = NULL;
  file.name = yaml_file_relative(r->b->doc, r->file->name, target);
  PetscCheck(file.name, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for the name of an included file; use a smaller scene or a larger machine");
  if (++r->b->n_includes > YAML_MAX_INCLUDES) {
    abort_reading(r, mark, "too many files are included");
  } else {
    PetscCall(yaml_file_load(r->b->doc, file.name, YAML_MAX_BYTES - r->b->n_bytes, &file, &problem));
    r->b->n_bytes += file.n;
    for (const yaml_file *up = r->file; up && !problem; up = up->parent)
      if (up->inode && up->inode == file.inode && up->device == file.device) problem = "the file includes itself";
    PetscErrorCode code = PETSC_SUCCESS;
    if (problem) diagnostics_add(r->b->d, mark, NULL, "cannot include %.400s: %s", file.name, problem);
    else code = read_stream(r->b, &file, out);
    memory_free(&file.bytes);
    PetscCall(code);
    if (r->b->is_over) r->is_broken = true;
  }
  if (!*out) PetscCall(add_node(r, DOCUMENT_NULL, mark, NULL, out));
  PetscFunctionReturn(PETSC_SUCCESS);
}

typedef enum { TAG_NONE, TAG_STRING, TAG_INCLUDE, TAG_UNKNOWN } tag_kind;

static tag_kind tag_of(const yaml_char_t *tag, document_kind kind)
{
  static const char *const of_scalars[] = {YAML_INT_TAG, YAML_FLOAT_TAG, YAML_BOOL_TAG, YAML_NULL_TAG};
  const char              *t            = (const char *)tag;
  if (!t) return TAG_NONE;
  if (kind == DOCUMENT_MAPPING) return strcmp(t, YAML_MAP_TAG) ? TAG_UNKNOWN : TAG_NONE;
  if (kind == DOCUMENT_SEQUENCE) return strcmp(t, YAML_SEQ_TAG) ? TAG_UNKNOWN : TAG_NONE;
  if (!strcmp(t, "!include")) return TAG_INCLUDE;
  if (!strcmp(t, YAML_STR_TAG) || !strcmp(t, "!")) return TAG_STRING;
  for (size_t i = 0; i < sizeof of_scalars / sizeof *of_scalars; ++i)
    if (!strcmp(t, of_scalars[i])) return TAG_NONE;
  return TAG_UNKNOWN;
}

static void check_tag(reader *r, const yaml_char_t *tag, document_kind kind, document_mark mark)
{
  if (tag_of(tag, kind) == TAG_UNKNOWN)
    diagnostics_add(r->b->d, mark, NULL, "the tag \"%.100s\" is not supported; the only supported tag is !include file", (const char *)tag);
}

static bool is_null_word(const char *s) { return !*s || !strcmp(s, "~") || !strcmp(s, "null") || !strcmp(s, "Null") || !strcmp(s, "NULL"); }

static PetscErrorCode read_scalar(reader *r, document_node **out)
{
  const document_mark mark     = mark_of(r, r->event.start_mark);
  const char         *text     = (const char *)r->event.data.scalar.value;
  const tag_kind      tag      = tag_of(r->event.data.scalar.tag, DOCUMENT_SCALAR);
  const bool          is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE && tag != TAG_STRING;
  int                 i_anchor;

  PetscFunctionBegin;
  check_tag(r, r->event.data.scalar.tag, DOCUMENT_SCALAR, mark);
  if (strlen(text) != r->event.data.scalar.length) diagnostics_add(r->b->d, mark, NULL, "the text contains a zero character; remove it");
  if (tag == TAG_INCLUDE) {
    ++r->b->depth;
    PetscCall(read_include(r, mark, text, out));
    --r->b->depth;
  } else if (is_plain && is_null_word(text)) {
    PetscCall(add_node(r, DOCUMENT_NULL, mark, NULL, out));
  } else {
    PetscCall(add_node(r, DOCUMENT_SCALAR, mark, text, out));
    if (*out) (*out)->is_quoted = !is_plain;
  }
  if (*out) {
    PetscCall(remember_anchor(r, r->event.data.scalar.anchor, *out, &i_anchor));
    if (i_anchor >= 0) r->anchors[i_anchor].is_open = false;
  }
  next_event(r);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- collections ---- */

static PetscErrorCode read_sequence(reader *r, document_node **out)
{
  const document_mark mark = mark_of(r, r->event.start_mark);
  document_node      *node, *child;
  int                 i_anchor;

  PetscFunctionBegin;
  check_tag(r, r->event.data.sequence_start.tag, DOCUMENT_SEQUENCE, mark);
  PetscCall(add_node(r, DOCUMENT_SEQUENCE, mark, NULL, &node));
  if (!node) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(remember_anchor(r, r->event.data.sequence_start.anchor, node, &i_anchor));
  next_event(r);
  while (!r->is_broken && r->event.type != YAML_SEQUENCE_END_EVENT) {
    PetscCall(read_node(r, &child));
    if (child) PetscCall(document_append(r->b->doc, node, NULL, mark, child));
  }
  if (i_anchor >= 0) r->anchors[i_anchor].is_open = false;
  next_event(r);
  *out = node;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Insert the entries of `from` that `into` does not have yet; `names` contains the names of `into`. */
static PetscErrorCode merge(reader *r, document_node *into, yaml_names *names, const document_node *from, document_mark mark)
{
  PetscFunctionBegin;
  if (from->kind != DOCUMENT_MAPPING) {
    diagnostics_add(r->b->d, mark, NULL, "\"<<\" merges a mapping or a list of mappings; expected one of these");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  for (int i = 0; i < from->n; ++i) {
    document_node *child;
    int            found;
    PetscCall(yaml_names_put(names, from->key[i], into->n, &found));
    if (found >= 0) continue;
    PetscCall(add_copy(r, from->value[i], mark, r->b->depth, &child));
    if (!child) break;
    PetscCall(document_append(r->b->doc, into, from->key[i], from->key_mark[i], child));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The key in the current event; NULL if it is invalid (reported and skipped). */
static PetscErrorCode read_key(reader *r, const char **key, bool *is_merge)
{
  const document_mark mark = mark_of(r, r->event.start_mark);
  document_node      *unused;

  PetscFunctionBegin;
  *key      = NULL;
  *is_merge = false;
  if (r->event.type == YAML_ALIAS_EVENT && yaml_names_find(&r->anchor_index, (const char *)r->event.data.alias.anchor) >= 0) {
    const document_node *node = r->anchors[yaml_names_find(&r->anchor_index, (const char *)r->event.data.alias.anchor)].node;
    if (node->kind == DOCUMENT_SCALAR) *key = node->text;
  }
  if (r->event.type == YAML_SCALAR_EVENT) {
    const char *text     = (const char *)r->event.data.scalar.value;
    const bool  is_plain = r->event.data.scalar.style == YAML_PLAIN_SCALAR_STYLE;
    int         i_anchor;
    const bool  is_sound = tag_of(r->event.data.scalar.tag, DOCUMENT_SCALAR) <= TAG_STRING && strlen(text) == r->event.data.scalar.length;
    if (is_sound && *text && strlen(text) <= YAML_MAX_KEY) {
      PetscCall(add_node(r, DOCUMENT_SCALAR, mark, text, &unused));
      if (unused) {
        *key      = unused->text;
        *is_merge = is_plain && !strcmp(text, "<<");
        PetscCall(remember_anchor(r, r->event.data.scalar.anchor, unused, &i_anchor));
        if (i_anchor >= 0) r->anchors[i_anchor].is_open = false;
      }
      next_event(r);
      PetscFunctionReturn(PETSC_SUCCESS);
    }
    if (!*text) diagnostics_add(r->b->d, mark, NULL, "a key is empty");
    else if (is_sound) diagnostics_add(r->b->d, mark, NULL, "a key has more than %d characters", YAML_MAX_KEY);
    else diagnostics_add(r->b->d, mark, NULL, "a key must be a plain word");
  } else if (!*key) {
    diagnostics_add(r->b->d, mark, NULL, "a key must be a word, not a list or mapping");
  }
  if (*key && strlen(*key) > YAML_MAX_KEY) {
    diagnostics_add(r->b->d, mark, NULL, "a key has more than %d characters", YAML_MAX_KEY);
    *key = NULL;
  }
  PetscCall(read_node(r, &unused)); /* skip the key */
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_pair(reader *r, document_node *node, yaml_names *names, document_node **merges)
{
  const document_mark mark = mark_of(r, r->event.start_mark);
  const char         *key;
  document_node      *child = NULL;
  bool                is_merge;
  int                 found = -1;

  PetscFunctionBegin;
  PetscCall(read_key(r, &key, &is_merge));
  if (r->is_broken) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(read_node(r, &child));
  if (!child || !key) PetscFunctionReturn(PETSC_SUCCESS);
  if (is_merge) {
    if (!*merges) PetscCall(add_node(r, DOCUMENT_SEQUENCE, mark, NULL, merges));
    if (*merges) PetscCall(document_append(r->b->doc, *merges, NULL, mark, child));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscCall(yaml_names_put(names, key, node->n, &found));
  if (found >= 0)
    diagnostics_add(r->b->d, mark, NULL, "duplicate key \"%.100s\"; the first is in line %d", key, node->key_mark[found].line);
  else PetscCall(document_append(r->b->doc, node, key, mark, child));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_pairs(reader *r, document_node *node, yaml_names *names)
{
  document_node *merges = NULL;

  PetscFunctionBegin;
  while (!r->is_broken && r->event.type != YAML_MAPPING_END_EVENT) PetscCall(read_pair(r, node, names, &merges));
  /* explicit keys have precedence over "<<", wherever it is */
  for (int i = 0; merges && i < merges->n && !r->is_broken; ++i) {
    const document_node *from = merges->value[i];
    if (from->kind != DOCUMENT_SEQUENCE) PetscCall(merge(r, node, names, from, from->mark));
    else
      for (int j = 0; j < from->n && !r->is_broken; ++j) PetscCall(merge(r, node, names, from->value[j], from->value[j]->mark));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_mapping(reader *r, document_node **out)
{
  const document_mark mark  = mark_of(r, r->event.start_mark);
  yaml_names          names = {0};
  document_node      *node;
  int                 i_anchor;

  PetscFunctionBegin;
  check_tag(r, r->event.data.mapping_start.tag, DOCUMENT_MAPPING, mark);
  PetscCall(add_node(r, DOCUMENT_MAPPING, mark, NULL, &node));
  if (!node) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(remember_anchor(r, r->event.data.mapping_start.anchor, node, &i_anchor));
  next_event(r);
  const PetscErrorCode code = read_pairs(r, node, &names);
  yaml_names_clear(&names);
  PetscCall(code);
  if (i_anchor >= 0) r->anchors[i_anchor].is_open = false;
  next_event(r);
  *out = node;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The node that begins with the current event; moves behind it. NULL only when everything is broken. */
static PetscErrorCode read_node(reader *r, document_node **out)
{
  PetscFunctionBegin;
  *out = NULL;
  if (r->is_broken) PetscFunctionReturn(PETSC_SUCCESS);
  if (++r->b->depth > YAML_MAX_DEPTH) {
    abort_reading(r, mark_of(r, r->event.start_mark), "nested too deeply");
  } else {
    switch (r->event.type) {
    case YAML_SCALAR_EVENT: PetscCall(read_scalar(r, out)); break;
    case YAML_ALIAS_EVENT: PetscCall(read_alias(r, out)); break;
    case YAML_SEQUENCE_START_EVENT: PetscCall(read_sequence(r, out)); break;
    case YAML_MAPPING_START_EVENT: PetscCall(read_mapping(r, out)); break;
    default: abort_reading(r, mark_of(r, r->event.start_mark), "YAML error: a value was expected here"); break;
    }
  }
  --r->b->depth;
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- one file ---- */

static PetscErrorCode read_documents(reader *r, document_node **out)
{
  document_node *root = NULL;

  PetscFunctionBegin;
  next_event(r); /* stream start */
  next_event(r); /* document start, or the stream's end */
  if (!r->is_broken && r->event.type == YAML_STREAM_END_EVENT) {
    diagnostics_add(r->b->d, (document_mark){r->file->name, 1, 1}, NULL, "the file contains no keys; expected the keys of a job");
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  next_event(r);
  PetscCall(read_node(r, &root));
  next_event(r); /* over the document's end */
  if (!r->is_broken && r->event.type != YAML_STREAM_END_EVENT)
    diagnostics_add(r->b->d, mark_of(r, r->event.start_mark), NULL, "a second document begins here; a file contains one");
  *out = r->is_broken ? NULL : root;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode read_stream(budget *b, const yaml_file *file, document_node **out)
{
  reader r = {.b = b, .file = file};

  PetscFunctionBegin;
  *out = NULL;
  PetscCheck(yaml_parser_initialize(&r.parser), PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for a YAML parser; use a smaller scene or a larger machine");
  yaml_parser_set_input_string(&r.parser, (const unsigned char *)(file->bytes ? file->bytes : ""), file->n);
  const PetscErrorCode code = read_documents(&r, out);
  if (r.has_event) yaml_event_delete(&r.event);
  yaml_parser_delete(&r.parser);
  yaml_names_clear(&r.anchor_index);
  memory_free(&r.anchors);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode yaml_read_text_into(const char *name, const char *text, size_t n, document *doc, diagnostics *d, document_node **value)
{
  budget          b    = {.doc = doc, .d = d, .n_bytes = n};
  const yaml_file file = {.name = document_intern(doc, name), .bytes = (char *)text, .n = n};

  PetscFunctionBegin;
  *value = NULL;
  PetscCheck(file.name, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for a file's name; use a smaller scene or a larger machine");
  if (n > YAML_MAX_BYTES)
    diagnostics_add(d, (document_mark){file.name, 1, 1}, NULL, "it is larger than 256 MiB, the limit for jobs; shorten it");
  else PetscCall(read_stream(&b, &file, value));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode yaml_read_text(const char *name, const char *text, size_t n, document *doc, diagnostics *d)
{
  document_node *root;

  PetscFunctionBegin;
  PetscCall(yaml_read_text_into(name, text, n, doc, d, &root));
  document_set_root(doc, root);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode yaml_read_file(const char *path, document *doc, diagnostics *d)
{
  budget         b    = {.doc = doc, .d = d};
  yaml_file      file = {.name = document_intern(doc, path)};
  document_node *root = NULL;
  const char    *problem;

  PetscFunctionBegin;
  PetscCheck(file.name, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for a file's name; use a smaller scene or a larger machine");
  PetscCall(yaml_file_load(doc, file.name, YAML_MAX_BYTES, &file, &problem));
  b.n_bytes = file.n;
  if (problem) {
    diagnostics_add(d, (document_mark){0}, NULL, "cannot read %s: %s", path, problem);
  } else {
    const PetscErrorCode code = read_stream(&b, &file, &root);
    memory_free(&file.bytes);
    PetscCall(code);
  }
  document_set_root(doc, root);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Documents as YAML text: block style, quoted only where plain text would read differently. */
#include "core/document.h"
#include "core/memory.h"
#include "core/text.h"
#include <string.h>

/* Would YAML read this back as the same plain scalar, in block context and as a key? */
static bool is_plain(const char *s)
{
  static const char *const reserved[] = {"~", "null", "Null", "NULL", "<<", "="};
  const size_t             n = strlen(s);
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

/* Decode one UTF-8 character; a stray byte stands for itself. Returns its length. */
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

static PetscErrorCode write_quoted(text_buffer *b, const char *text)
{
  PetscFunctionBegin;
  PetscCall(text_append(b, "\"", 1));
  for (const unsigned char *s = (const unsigned char *)text; *s;) {
    unsigned  code;
    const int n = decode(s, &code);
    if (code == '"' || code == '\\') PetscCall(text_printf(b, "\\%c", (char)code));
    else if (code == '\n') PetscCall(text_append(b, "\\n", 2));
    else if (code >= 0x20 && code < 0x7f) PetscCall(text_append(b, (const char *)s, 1));
    else PetscCall(text_printf(b, code < 0x100 ? "\\x%02X" : code < 0x10000 ? "\\u%04X" : "\\U%08X", code));
    s += n;
  }
  PetscCall(text_append(b, "\"", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_text(text_buffer *b, const char *text, bool is_quoted)
{
  PetscFunctionBegin;
  if (!is_quoted && is_plain(text)) PetscCall(text_append(b, text, (int64_t)strlen(text)));
  else PetscCall(write_quoted(b, text));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_flow(text_buffer *b, const document_node *node)
{
  const bool is_mapping = node->kind == DOCUMENT_MAPPING;

  PetscFunctionBegin;
  if (node->kind == DOCUMENT_NULL) {
    PetscCall(text_append(b, "null", 4));
  } else if (node->kind == DOCUMENT_SCALAR) {
    PetscCall(write_text(b, node->text, node->is_quoted || strpbrk(node->text, ",[]{}")));
  } else {
    PetscCall(text_append(b, is_mapping ? "{" : "[", 1));
    for (int i = 0; i < node->n; ++i) {
      if (i) PetscCall(text_append(b, ", ", 2));
      if (is_mapping) {
        PetscCall(write_text(b, node->key[i], strpbrk(node->key[i], ",[]{}")));
        PetscCall(text_append(b, ": ", 2));
      }
      PetscCall(write_flow(b, node->value[i]));
    }
    PetscCall(text_append(b, is_mapping ? "}" : "]", 1));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode write_node(text_buffer *b, const document_node *node, int indent)
{
  PetscFunctionBegin;
  if (node->kind == DOCUMENT_NULL) {
    PetscCall(text_append(b, " null\n", 6));
  } else if (node->kind == DOCUMENT_SCALAR) {
    PetscCall(text_append(b, " ", 1));
    PetscCall(write_text(b, node->text, node->is_quoted));
    PetscCall(text_append(b, "\n", 1));
  } else if (node->n == 0) {
    PetscCall(text_append(b, node->kind == DOCUMENT_MAPPING ? " {}\n" : " []\n", 4));
  } else {
    if (indent) PetscCall(text_append(b, "\n", 1));
    for (int i = 0; i < node->n; ++i) {
      PetscCall(text_printf(b, "%*s", indent, ""));
      if (node->kind == DOCUMENT_MAPPING) {
        PetscCall(write_text(b, node->key[i], false));
        PetscCall(text_append(b, ":", 1));
      } else {
        PetscCall(text_append(b, "-", 1));
      }
      PetscCall(write_node(b, node->value[i], indent + 2));
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode document_write(const document_node *node, char **text)
{
  text_buffer b = {0};

  PetscFunctionBegin;
  PetscCall(write_node(&b, node, 0));
  *text = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode document_write_flow(const document_node *node, char **text)
{
  text_buffer b = {0};

  PetscFunctionBegin;
  PetscCall(write_flow(&b, node));
  *text = b.data;
  PetscFunctionReturn(PETSC_SUCCESS);
}

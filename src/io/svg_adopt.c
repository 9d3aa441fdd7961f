#include "io/svg_adopt.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "io/html.h"

static bool begins(const char *s, const char *with) { return strncmp(s, with, strlen(with)) == 0; }

/* Where the element that begins at s ends, if it has no elements in it: after its /> or </NAME>; NULL if it has some. */
static const char *end_of_simple(const char *s)
{
  const char *close = strchr(s, '>');
  if (!close) return NULL;
  if (close[-1] == '/') return close + 1;
  const char *next = strchr(close + 1, '<');
  if (!next || next[1] != '/') return NULL;
  close = strchr(next, '>');
  return close ? close + 1 : NULL;
}

/* A group with nothing but space in it. */
static const char *end_of_empty_group(const char *s)
{
  if (!begins(s, "<g ")) return NULL;
  const char *at = strchr(s, '>');
  if (!at || at[-1] == '/') return NULL;
  for (++at; isspace((unsigned char)*at);) ++at;
  return begins(at, "</g>") ? at + 4 : NULL;
}

/* A mark (gpPt0, gpDot) or filter of the list of definitions that nothing refers to. */
static const char *end_of_unused(const char *s, const char *whole)
{
  const char *close = s + strcspn(s, ">"), *id = s;
  char        reference[64];
  if (begins(s, "<filter ")) {
    const char *end = strstr(s, "</filter>");
    return end ? end + 9 : NULL;
  }
  while (id < close && !begins(id, " id='gp")) ++id;
  if (id == close) return NULL;
  id += 5;
  const size_t length = strcspn(id, "'");
  if (length + 3 > sizeof reference) return NULL;
  snprintf(reference, sizeof reference, "#%.*s'", (int)length, id);
  return strstr(whole, reference) ? NULL : end_of_simple(s);
}

/* What the page does without: the end of it, or NULL. */
static const char *end_of_waste(const char *s, const char *whole)
{
  if (begins(s, "<title>") || begins(s, "<desc>")) return end_of_simple(s);
  const char *end = end_of_empty_group(s);
  return end ? end : end_of_unused(s, whole);
}

/* The colour in quotes at s, as the page names it. */
static PetscErrorCode put_colour(text_buffer *out, const char *value, size_t length)
{
  int red, green, blue;
  char text[40];
  PetscFunctionBegin;
  if (length >= sizeof text) length = sizeof text - 1;
  memcpy(text, value, length);
  text[length] = '\0';
  if (strcmp(text, "black") == 0) PetscCall(text_printf(out, "currentColor"));
  else if (strcmp(text, "white") == 0) PetscCall(text_printf(out, "none"));
  else if (sscanf(text, "rgb(%d,%d,%d)", &red, &green, &blue) == 3 && red == 1 && green == 1) PetscCall(text_printf(out, "var(--c%d)", blue));
  else PetscCall(text_append(out, text, (int64_t)length));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_named(const char *s, size_t length, const char *name) { return strlen(name) == length && strncmp(s, name, length) == 0; }

/* One attribute, NAME=QUOTE value QUOTE, perhaps with spaces around the =, at s: its end in *end. */
static PetscErrorCode put_attribute(text_buffer *out, const char *s, const char *prefix, bool is_group, const char **end)
{
  const size_t name  = strcspn(s, " =");
  const char  *at    = s + name + strspn(s + name, " =");
  const char   quote = *at == '"' || *at == '\'' ? *at : '\0', *value = at + (quote != '\0');
  const size_t length = strcspn(value, quote == '"' ? "\"" : quote ? "'" : " >");
  const bool   is_id = is_named(s, name, "id"), is_reference = is_named(s, name, "xlink:href") && *value == '#';
  PetscFunctionBegin;
  PetscCheck(quote && value[length], PETSC_COMM_SELF, PETSC_ERR_LIB, "gnuplot drew nothing that could be read");
  *end = value + length + 1;
  if (is_named(s, name, "font-family") || (is_group && is_named(s, name, "color"))) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCall(text_printf(out, " "));
  if (is_reference) PetscCall(text_printf(out, "href=%c#%s%.*s%c", quote, prefix, (int)length - 1, value + 1, quote));
  else if (is_id) PetscCall(text_printf(out, "id=%c%s%.*s%c", quote, prefix, (int)length, value, quote));
  else if (length > 5 && begins(value, "url(#")) PetscCall(text_printf(out, "%.*s=%curl(#%s%.*s%c", (int)name, s, quote, prefix, (int)length - 5, value + 5, quote));
  else if (is_named(s, name, "stroke") || is_named(s, name, "fill") || is_named(s, name, "color")) {
    PetscCall(text_printf(out, "%.*s=%c", (int)name, s, quote));
    PetscCall(put_colour(out, value, length));
    PetscCall(text_append(out, &quote, 1));
  } else PetscCall(text_printf(out, "%.*s=%.*s", (int)name, s, (int)(*end - at), at));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A tag with its attributes, from < to >. */
static PetscErrorCode put_tag(text_buffer *out, const char *s, const char *prefix, const char **end)
{
  const bool is_group = begins(s, "<g ");
  size_t     n = strcspn(s, " \t\n>");
  PetscFunctionBegin;
  if (n > 1 && s[n - 1] == '/') --n; /* <x/> */
  PetscCall(text_append(out, s, (int64_t)n));
  for (s += n; *s && *s != '>';) {
    if (isspace((unsigned char)*s)) ++s;
    else if (*s == '/') PetscCall(text_append(out, s++, 1));
    else if (s[strcspn(s, "=>")] == '=') PetscCall(put_attribute(out, s, prefix, is_group, &s));
    else break;
  }
  *end = *s ? s + 1 : s;
  PetscCall(text_append(out, ">", 1));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_content(text_buffer *out, const char *s, const char *whole, const char *prefix)
{
  PetscFunctionBegin;
  while (*s) {
    const char  *waste = *s == '<' ? end_of_waste(s, whole) : NULL;
    const size_t space = strspn(s, " \t\n\r");
    if (waste) s = waste + strspn(waste, " \t\n\r");
    else if (*s == '<') PetscCall(put_tag(out, s, prefix, &s));
    else if (space > 1 || (space == 1 && *s != ' ')) {
      PetscCall(text_append(out, "\n", 1));
      s += space;
    } else {
      const size_t n = 1 + strcspn(s + 1, "< \t\n\r");
      PetscCall(text_append(out, s, (int64_t)n));
      s += n;
    }
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode svg_adopt(const char *text, size_t n, const char *prefix, const char *label, text_buffer *out)
{
  char *copy __attribute__((cleanup(memory_free))) = NULL;
  PetscFunctionBegin;
  PetscCall(memory_alloc("drawing", (int64_t)n + 1, 1, &copy));
  memcpy(copy, text, n);
  const char *root = strstr(copy, "<svg"), *box = root ? strstr(root, "viewBox=\"") : NULL, *content = root ? strchr(root, '>') : NULL;
  PetscCheck(root && content && box && box < content && strstr(content, "</svg>"), PETSC_COMM_SELF, PETSC_ERR_LIB, "gnuplot drew nothing that could be read");
  PetscCall(html_put(out, "<svg class=\"plot\" role=\"img\" aria-label=\"%s\" ", label));
  PetscCall(text_printf(out, "%.*s\" xmlns=\"http://www.w3.org/2000/svg\">", (int)(9 + strcspn(box + 9, "\"")), box));
  PetscCall(put_content(out, content + 1, copy, prefix));
  PetscFunctionReturn(PETSC_SUCCESS);
}

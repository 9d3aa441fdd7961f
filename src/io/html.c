/* HTML with automatic escaping, see html.h. */
#include "io/html.h"
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

int html_character_length(const unsigned char *s)
{
  if (s[0] < 0x80) return s[0] >= 0x20 && s[0] != 0x7f ? 1 : s[0] == '\n' || s[0] == '\t';
  const int n = s[0] >= 0xc2 && s[0] <= 0xdf ? 2 : (s[0] & 0xf0) == 0xe0 ? 3 : s[0] >= 0xf0 && s[0] <= 0xf4 ? 4 : 0;
  for (int i = 1; i < n; ++i)
    if ((s[i] & 0xc0) != 0x80) return 0;
  if (s[0] == 0xe0 && s[1] < 0xa0) return 0; /* longer than needed */
  if (s[0] == 0xf0 && s[1] < 0x90) return 0;
  if (s[0] == 0xed && s[1] > 0x9f) return 0;                  /* halves of UTF-16 */
  if (s[0] == 0xf4 && s[1] > 0x8f) return 0;                  /* beyond Unicode */
  if (s[0] == 0xef && s[1] == 0xbf && s[2] >= 0xbe) return 0; /* no characters */
  return n;
}

static void put_escaped(text_buffer *b, const char *text)
{
  for (const char *s = text; *s;) {
    const int n = html_character_length((const unsigned char *)s);
    if (n == 0) text_put(b, "\xef\xbf\xbd");
    else if (*s == '&') text_put(b, "&amp;");
    else if (*s == '<') text_put(b, "&lt;");
    else if (*s == '>') text_put(b, "&gt;");
    else if (*s == '"') text_put(b, "&quot;");
    else if (*s == '\'') text_put(b, "&#39;");
    else text_append(b, s, n);
    s += n > 0 ? n : 1;
  }
}

/* One number by its own conversion, "%8.3f". */
static PetscErrorCode put_number(text_buffer *b, const char *spec, size_t length, va_list *arguments)
{
  char one[32], text[400];
  int  n = -1;
  PetscFunctionBegin;
  PetscCheck(length < sizeof one, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "html: conversion \"%s\" is too long", spec);
  memcpy(one, spec, length);
  one[length] = '\0';
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
  if (strchr("gfe", one[length - 1])) n = snprintf(text, sizeof text, one, va_arg(*arguments, double));
  else if (one[length - 1] == 'd' && strstr(one, "ll")) n = snprintf(text, sizeof text, one, va_arg(*arguments, long long));
  else if (one[length - 1] == 'd') n = snprintf(text, sizeof text, one, va_arg(*arguments, int));
#pragma GCC diagnostic pop
  PetscCheck(n >= 0 && n < (int)sizeof text, PETSC_COMM_SELF, PETSC_ERR_ARG_WRONG, "html: unknown conversion \"%s\"", one);
  text_append(b, text, n);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void html_put(text_buffer *b, const char *format, ...)
{
  va_list arguments;
  va_start(arguments, format);
  for (const char *s = format; *s && !b->code;) {
    const size_t plain = strcspn(s, "%");
    text_append(b, s, (int64_t)plain);
    s += plain;
    if (!*s) break;
    const size_t length = 2 + strcspn(s + 1, "sdgfe%"); /* with the % and the letter */
    if (s[length - 1] == '%') text_put(b, "%");
    else if (s[length - 1] == 's') put_escaped(b, va_arg(arguments, const char *));
    else if (!b->code) b->code = put_number(b, s, length, &arguments);
    s += length;
  }
  va_end(arguments);
}

void html_put_path(text_buffer *b, const char *path)
{
  for (const char *s = path; *s; ++s) {
    if (isalnum((unsigned char)*s) || strchr("-._~/", *s)) text_append(b, s, 1);
    else text_printf(b, "%%%02X", (unsigned)(unsigned char)*s);
  }
}

void html_put_markup(text_buffer *b, const char *markup) { text_put(b, markup); }

void html_put_png(text_buffer *b, int width, int height, const char *alt, size_t n, const uint8_t *bytes)
{
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  html_put(b, "<img width=\"%d\" height=\"%d\" alt=\"%s\" src=\"data:image/png;base64,", width, height, alt);
  for (size_t i = 0; i < n; i += 3) {
    const size_t   left    = n - i;
    const uint32_t v       = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) | (left > 2 ? bytes[i + 2] : 0);
    const char     four[4] = {letters[v >> 18], letters[v >> 12 & 63], (char)(left > 1 ? letters[v >> 6 & 63] : '='),
                              (char)(left > 2 ? letters[v & 63] : '=')};
    text_append(b, four, 4);
  }
  html_put_markup(b, "\"/>");
}

/* HTML that cannot be broken by what is put into it: whatever comes in by %s is escaped, markup stands in the formats alone.
 *
 * Pages are written as well-formed XML, too (every element closed), so that they can be checked. */
#ifndef SS_IO_HTML_H
#define SS_IO_HTML_H
#include "core/text.h"

/* `format` is markup, a literal of ours. Of printf's conversions it may have %s (escaped), %d, %lld, %c-less numbers with
 * flags, width and precision (%.3f, %g), and %%. Escaped: & < > " '; what is no character of XML, or no UTF-8, becomes U+FFFD. */
PetscErrorCode html_put(text_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The length of the UTF-8 character at s if it may stand in XML, else 0. */
int html_character_length(const unsigned char *s);
/* A path for href="...", each byte that is not plain percent-encoded; `../` and what begins with / are the caller's business. */
PetscErrorCode html_put_path(text_buffer *b, const char *path);
/* Markup as it is: only what we made ourselves. */
PetscErrorCode html_put_markup(text_buffer *b, const char *markup);
/* An <img> that holds the n bytes of a PNG file; `alt` is escaped. */
PetscErrorCode html_put_png(text_buffer *b, int width, int height, const char *alt, size_t n, const uint8_t *bytes);
#endif

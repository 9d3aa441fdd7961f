/* Writing of HTML with automatic escaping: arguments of %s are escaped, only the format contains markup.
 *
 * Pages are also well-formed XML (every element is closed), so that tests can check them. */
#ifndef SS_IO_HTML_H
#define SS_IO_HTML_H
#include "core/text.h"

/* `format` is markup, a string literal. Of printf's conversions it may have %s (escaped), %d, %lld, %c-less numbers with
 * flags, width and precision (%.3f, %g), and %%. Escaped: & < > " '; invalid UTF-8 and characters not allowed in XML become U+FFFD. */
void html_put(text_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* The length of the UTF-8 character at s if XML permits it, else 0. */
int html_character_length(const unsigned char *s);
/* Append a path for href="..." with all special bytes percent-encoded. The caller is responsible for `../` and absolute paths. */
void html_put_path(text_buffer *b, const char *path);
/* Append markup without escaping; never for text from outside the program. */
void html_put_markup(text_buffer *b, const char *markup);
/* Append an <img> that contains the n bytes of a PNG file; `alt` is escaped. */
void html_put_png(text_buffer *b, int width, int height, const char *alt, size_t n, const uint8_t *bytes);
#endif

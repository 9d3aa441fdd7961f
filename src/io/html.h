/* Writing of HTML with automatic escaping: arguments of %s are escaped, only the format contains markup.
 *
 * Pages are also well-formed XML (every element is closed), so that tests can check them. */
#ifndef SS_IO_HTML_H
#define SS_IO_HTML_H
#include "core/text.h"

/* `format` is a string literal with markup. Conversions: %s (escaped), numbers such as %d, %lld, %g and %.3f with flags, width and precision, and %%; not
 * %c. Escaped characters: & < > " '; invalid UTF-8 and characters not allowed in XML become U+FFFD. */
void html_put(text_buffer *b, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Number of bytes of the UTF-8 character at s; 0 if it is invalid or not allowed in XML. */
int html_character_length(const unsigned char *s);
/* Append a path for href="...", with all special bytes percent-encoded. "../" and absolute paths are not changed. */
void html_put_path(text_buffer *b, const char *path);
/* Append markup without escaping; never for text from outside the program. */
void html_put_markup(text_buffer *b, const char *markup);
/* Append an <img> element of width x height pixels that contains the n bytes of a PNG file; the alternative text `alt` is escaped. */
void html_put_png(text_buffer *b, int width, int height, const char *alt, size_t n, const uint8_t *bytes);
#endif

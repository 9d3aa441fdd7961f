/* Common parts of HTML report pages: head with style sheet, foot, tiles, rows, links and number formats. For escaping see io/html.h. */
#ifndef SS_APP_REPORT_PAGE_H
#define SS_APP_REPORT_PAGE_H
#include "core/text.h"

/* The colour with this number in the style sheet for light background, as hexadecimal text: "#0072b2". */
void page_colour(int colour, char hex[8]);
void page_begin(text_buffer *page, const char *title);
void page_end(text_buffer *page);
/* A tile: large value with unit, and a label below. Call between page_tiles_begin and page_tiles_end. */
void page_tiles_begin(text_buffer *page);
void page_tile(text_buffer *page, const char *value, const char *unit, const char *what);
void page_tiles_end(text_buffer *page);
/* A row of a table with two columns; nothing if the value is "". */
void page_row(text_buffer *page, const char *what, const char *value);
/* A link to `name` in the folder `base` ("": the folder of the page). */
void page_link(text_buffer *page, const char *base, const char *name, const char *text);
/* The prefix of links from a page at `path` to files in `dir`: "" if the page is in `dir`, otherwise the absolute path and a slash.
 * memory_free(*base). */
PetscErrorCode page_base(const char *dir, const char *path, char **base);

/* Number formats for users: 1.5, 0.00012, 1.23e-07, 12300, 1 234 567. */
void page_number(double x, size_t size, char *text);
/* 4.2 s, 3 min 20 s, 5 h 12 min. */
void page_duration(double seconds, size_t size, char *text);
void page_bytes(double bytes, size_t size, char *text); /* 35.1 MB */

/* Writes DIR/report.html of a run or a sweep with `write` at the end of another command. If gnuplot is missing or writing fails,
 * logs the reason and returns false; the command itself does not fail. again: name of the command that writes the page later. */
bool page_try_write(const char *dir, const char *again, PetscErrorCode (*write)(const char *dir));
#endif

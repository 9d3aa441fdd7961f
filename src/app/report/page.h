/* What every page of a report shares: its head with the style sheet, its foot, and small pieces. Escaping: io/html.h. */
#ifndef SS_APP_REPORT_PAGE_H
#define SS_APP_REPORT_PAGE_H
#include "core/text.h"

/* "#0072b2": what colour a figure's number stands for on light paper. */
void           page_colour(int colour, char hex[8]);
PetscErrorCode page_begin(text_buffer *page, const char *title);
PetscErrorCode page_end(text_buffer *page);
/* A large number with what it is below, between page_tiles_begin and page_tiles_end. */
PetscErrorCode page_tiles_begin(text_buffer *page);
PetscErrorCode page_tile(text_buffer *page, const char *value, const char *unit, const char *what);
PetscErrorCode page_tiles_end(text_buffer *page);
/* A row of a table of two columns; nothing if the value is "". */
PetscErrorCode page_row(text_buffer *page, const char *what, const char *value);
/* A link to `name` in the folder `base` ("" : the page's own). */
PetscErrorCode page_link(text_buffer *page, const char *base, const char *name, const char *text);
/* Where links of a page at `path` into `dir` begin: "" if it stands there, else the absolute path and a slash. memory_free(*base). */
PetscErrorCode page_base(const char *dir, const char *path, char **base);

/* For people: 1.5, 0.00012, 1.23e-07, 12 300. */
void page_number(double x, size_t size, char *text);
/* 4.2 s, 3 min 20 s, 5 h 12 min. */
void page_duration(double seconds, size_t size, char *text);
void page_bytes(double bytes, size_t size, char *text); /* 35.1 MB */

/* DIR/report.html by `write`, of a run or of a sweep. What went well does not fail for want of a page: without gnuplot, or where writing
 * fails, the log says so and the answer is false. `again` is the command that writes it later. */
bool page_try_write(const char *dir, const char *again, PetscErrorCode (*write)(const char *dir));
#endif

/* Conversion of scalar texts of a job to numbers and paths, independent of the locale; used by key tables. */
#ifndef SS_CORE_KEY_TEXT_H
#define SS_CORE_KEY_TEXT_H
#include "core/document.h"

/* strtod in the C locale, independent of the program's locale. Unlike strtod it does not accept hexadecimal numbers, "inf", "nan" or leading
 * space: *end == text if there is no decimal number. Overflow gives infinity. */
double key_text_strtod(const char *text, const char **end);

/* Shortest decimal text that reads back to the same bits; whole numbers below 2^53 are written without exponent. Returns text. */
enum { KEY_TEXT_REAL = 40 };
const char *key_text_of_real(double x, char text[KEY_TEXT_REAL]);

typedef enum { KEY_TEXT_OK, KEY_TEXT_NOT_A_NUMBER, KEY_TEXT_NOT_FINITE, KEY_TEXT_NOT_WHOLE, KEY_TEXT_TOO_LARGE } key_text_status;
/* The whole text must be one finite number. */
key_text_status key_text_real(const char *text, double *value);
/* A whole number in 64 bits; also written as 1e6 or 2.0 if it is represented exactly. */
key_text_status key_text_int(const char *text, int64_t *value);

/* Hint for a number followed by a unit ("5 mm"): its value in SI units, such as "5 mm is 0.005 m"; else "". */
void key_text_unit_hint(const char *text, char *hint, size_t size);

/* Expand $VAR, ${VAR}, $$ and a leading ~/ of a path, and make it absolute, relative to the folder of the file of `mark`. Storage in `doc`. *problem is
 * NULL, or the reason of the failure; *out is then NULL. */
PetscErrorCode key_text_path(document *doc, const char *text, document_mark mark, const char **out, const char **problem);
#endif

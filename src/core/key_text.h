/* Conversion of scalar texts of a job to numbers and paths, independent of the locale. Called by key tables. */
#ifndef SS_CORE_KEY_TEXT_H
#define SS_CORE_KEY_TEXT_H
#include "core/document.h"

/* Read the decimal number at the start of `text`, as strtod does in the C locale. Hexadecimal numbers, "inf", "nan" and leading space are not accepted:
 * *end == text if there is no decimal number. Overflow gives infinity. */
double key_text_strtod(const char *text, const char **end);

/* Write the shortest decimal text that gives the same bits when it is read. Whole numbers below 2^53 are written without exponent. Returns `text`. */
enum { KEY_TEXT_REAL = 40 };
const char *key_text_of_real(double x, char text[KEY_TEXT_REAL]);

typedef enum { KEY_TEXT_OK, KEY_TEXT_NOT_A_NUMBER, KEY_TEXT_NOT_FINITE, KEY_TEXT_NOT_WHOLE, KEY_TEXT_TOO_LARGE } key_text_status;
/* Read a finite number; text before or after the number is an error. */
key_text_status key_text_real(const char *text, double *value);
/* Read a 64-bit integer; forms such as 1e6 and 2.0 are accepted if their value is an integer that a double represents exactly. */
key_text_status key_text_int(const char *text, int64_t *value);

/* Hint for error messages. For a number with a unit ("5 mm") it states the SI value: "5 mm is 0.005 m"; for other texts it is "". */
void key_text_unit_hint(const char *text, char *hint, size_t size);

/* Expand $VAR, ${VAR}, $$ and a leading ~/ of a path. A relative path starts at the folder of mark.file; *out is absolute and owned by `doc`.
 * If the path cannot be expanded, *out is NULL and *problem the reason; otherwise *problem is NULL. */
PetscErrorCode key_text_path(document *doc, const char *text, document_mark mark, const char **out, const char **problem);
#endif

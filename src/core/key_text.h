/* What a scalar's text says, as key tables understand it: numbers in any locale, SI hints, paths. */
#ifndef SS_CORE_KEY_TEXT_H
#define SS_CORE_KEY_TEXT_H
#include "core/document.h"

/* strtod of the C locale, whatever the program's locale is. Unlike strtod it takes no hexadecimal, "inf", "nan" or
 * leading space: *end == text when there is no decimal number. Overflow gives infinity. */
double key_text_strtod(const char *text, const char **end);

/* The fewest digits that read back to the same bits; whole numbers below 2^53 without exponent. Returns text. */
enum { KEY_TEXT_REAL = 40 };
const char *key_text_of_real(double x, char text[KEY_TEXT_REAL]);

typedef enum { KEY_TEXT_OK, KEY_TEXT_NOT_A_NUMBER, KEY_TEXT_NOT_FINITE, KEY_TEXT_NOT_WHOLE, KEY_TEXT_TOO_LARGE } key_text_verdict;
/* The whole text must be one finite number. */
key_text_verdict key_text_real(const char *text, double *value);
/* A whole number in 64 bits; also 1e6 and 2.0, when no digit is lost. */
key_text_verdict key_text_int(const char *text, int64_t *value);

/* For a number followed by a unit ("5 mm"): what it is in SI, as a hint such as "5 mm is 0.005 m"; else "". */
void key_text_unit_hint(const char *text, char *hint, size_t size);

/* Expand $VAR, ${VAR}, $$ and a leading ~/ of a path that stands in the file of `mark`, and make it absolute. Storage
 * in `doc`. *problem: NULL, or why it cannot be done (then *out is NULL). */
PetscErrorCode key_text_path(document *doc, const char *text, document_mark mark, const char **out, const char **problem);
#endif

/* Small arithmetic expressions in named variables, compiled once, safe to take from a job file.
 *
 *   + - * / ^ (right associative), unary - and +, parentheses, < <= > >= == != (1 or 0), a ? b : c
 *   sin cos tan asin acos atan sqrt exp log abs floor ceil (one argument), atan2 min max pow (two), pi, e
 *
 * No assignment, no loops, bounded length and depth: evaluation cannot fail, only return a value that is not finite.     */
#ifndef SS_CORE_EXPRESSION_H
#define SS_CORE_EXPRESSION_H
#include "core/error.h"

enum { EXPRESSION_MAX_LENGTH = 4096, EXPRESSION_MAX_DEPTH = 64 };

typedef struct expression expression;

/* names [n_vars] of the variables, needed only during the call. A name may be anything without blanks, such as the path of a job
 * key, time.end or bodies.a.max[2]; the longest that fits counts. On a mistake in the text *out is NULL and the return still 0:
 * `message` says what was wrong and *place (may be NULL) the character it was found at, from 0. */
PetscErrorCode expression_compile(const char *text, int n_vars, const char *const *names, expression **out, int *place, char *message,
                                  size_t size);
/* A function of variable 0 alone from its values: row [n_rows][2] of arguments, ascending, and values, copied; n_rows >= 2. Straight in between,
 * level before and after; at a row the derivative is that of the piece which ends there. */
PetscErrorCode expression_create_table(int n_rows, const double *row, expression **out);
/* Does the value depend on variable `var`, as far as the text says? */
bool           expression_uses(const expression *e, int var);
void           expression_destroy(expression **e);
/* The name that stands at `place`, for messages: copied to `word`, "" if there is none. */
void           expression_word(const char *text, int place, size_t size, char *word);
double         expression_value(const expression *e, const double *vars);
/* Derivative with respect to variable `var`, by dual numbers; the value goes to *value. Comparisons, floor and ceil count as
 * constant. */
double         expression_derivative(const expression *e, const double *vars, int var, double *value);
#endif

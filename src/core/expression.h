/* Arithmetic expressions in named variables, for job files: compiled once to postfix code, evaluated many times.
 *
 *   + - * / ^ (right associative), unary - and +, parentheses, < <= > >= == != (1 or 0), a ? b : c
 *   sin cos tan asin acos atan sqrt exp log abs floor ceil (one argument), atan2 min max pow (two), pi, e
 *
 * No assignment and no loops; length and depth are bounded. Evaluation cannot fail; its result may be infinite or NaN. */
#ifndef SS_CORE_EXPRESSION_H
#define SS_CORE_EXPRESSION_H
#include "core/error.h"

enum { EXPRESSION_MAX_LENGTH = 4096, EXPRESSION_MAX_DEPTH = 64 };

typedef struct expression expression;

/* Compile `text`. names [n_vars] are the names of the variables, borrowed for the call. A name is any text without blanks, for example a path of a job
 * key (time.end, bodies.a.max[2]); the longest matching name is used. A syntax error is not an error code: *out is NULL, `message` (`size` bytes)
 * describes the error, and *place (may be NULL) is its character position, counted from 0. */
PetscErrorCode expression_compile(const char *text, int n_vars, const char *const *names, expression **out, int *place, char *message,
                                  size_t size);
/* Create a piecewise linear function of variable 0. row [n_rows][2], n_rows >= 2: argument (ascending) and value; copied. The function is constant
 * before the first and after the last row. At the argument of a row the derivative is that of the segment that ends there. */
PetscErrorCode expression_create_table(int n_rows, const double *row, expression **out);
/* Whether variable `var` occurs in the expression. */
bool expression_uses(const expression *e, int var);
void expression_destroy(expression **e);
/* Copy the name at character position `place` of `text` to `word` (`size` bytes), for messages; "" if there is no name. */
void   expression_word(const char *text, int place, size_t size, char *word);
double expression_value(const expression *e, const double *vars);
/* The same; *is_finite: the result and both sides of every comparison are finite. */
double expression_value_checked(const expression *e, const double *vars, bool *is_finite);
/* Derivative with respect to variable `var`, by dual numbers; *value is the function value. Comparisons, floor and ceil have derivative 0. */
double expression_derivative(const expression *e, const double *vars, int var, double *value);
#endif

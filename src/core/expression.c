/* Arithmetic expressions, see expression.h: recursive descent parser, postfix code. */
#include "core/expression.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "core/key_text.h"
#include "core/memory.h"

/* clang-format off */
#define FUNCTION_TABLE(X)                                                                                                   \
  X(sin, 1) X(cos, 1) X(tan, 1) X(asin, 1) X(acos, 1) X(atan, 1) X(sqrt, 1) X(exp, 1) X(log, 1) X(abs, 1) X(floor, 1) X(ceil, 1) \
  X(atan2, 2) X(min, 2) X(max, 2) X(pow, 2)

typedef enum {
  OP_CONSTANT, OP_VARIABLE, OP_ADD, OP_SUBTRACT, OP_MULTIPLY, OP_DIVIDE, OP_NEGATE, OP_LESS, OP_LESS_EQUAL, OP_GREATER, OP_GREATER_EQUAL,
  OP_EQUAL, OP_NOT_EQUAL, OP_SELECT, OP_TABLE,
#define X(name, n) OP_##name,
  FUNCTION_TABLE(X)
#undef X
} operation;
/* clang-format on */

typedef struct {
  operation op;
  int       var;
  double    constant;
} instruction;

struct expression {
  int          n, capacity;
  instruction *code; /* postfix */
  int          n_rows;
  double      *row; /* [n_rows][2] of a table: argument, value; NULL: none */
};

/* --- parsing --------------------------------------------------------------------------------------------------------- */

typedef struct {
  const char        *text, *at;
  int                n_vars, depth;
  const char *const *names;
  expression        *e;
  const char        *problem; /* NULL: none yet */
  const char        *where;
  bool               is_out_of_memory;
} parser;

static void report_error(parser *p, const char *problem)
{
  if (p->problem) return;
  p->problem = problem;
  p->where   = p->at;
}

/* Message about a character that no operator begins with; explains operators of other languages. */
static const char *problem_at(const char *at)
{
  static const struct {
    const char *token, *problem;
  } others[] = {{"&", "there is no operator \"and\"; multiply: (a) * (b) is 1 if both are true"},
                {"|", "there is no operator \"or\"; write max(a, b), which is 1 if one of them is true"},
                {"!", "there is no operator \"not\"; write (a) == 0"},
                {"*", "a power is written a^b"},
                {"=", "a comparison is written a == b"},
                {"<", "comparisons cannot be chained; write (a < b) * (b < c)"},
                {">", "comparisons cannot be chained; write (a > b) * (b > c)"},
                {",", "unexpected comma; the decimal mark is a point"},
                {"and", "there is no operator \"and\"; multiply: (a) * (b) is 1 if both are true"},
                {"or", "there is no operator \"or\"; write max(a, b), which is 1 if one of them is true"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; ++i)
    if (strncmp(at, others[i].token, strlen(others[i].token)) == 0) return others[i].problem;
  return "unexpected character";
}

static void emit(parser *p, operation op, int var, double constant)
{
  expression *e = p->e;
  if (e->n == e->capacity) {
    const int more = e->capacity ? 2 * e->capacity : 32;
    if (memory_resize("expression", more, sizeof(instruction), &e->code)) {
      p->is_out_of_memory = true;
      report_error(p, "out of memory");
      return;
    }
    e->capacity = more;
  }
  e->code[e->n++] = (instruction){op, var, constant};
}

static void skip_space(parser *p)
{
  while (*p->at == ' ' || *p->at == '\t' || *p->at == '\n' || *p->at == '\r') ++p->at;
}

static bool accept_token(parser *p, const char *token)
{
  skip_space(p);
  const size_t n = strlen(token);
  if (strncmp(p->at, token, n) != 0) return false;
  p->at += n;
  return true;
}

static void parse_choice(parser *p);

static bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
static bool is_digit(char c) { return c >= '0' && c <= '9'; }

static void parse_call(parser *p, operation op, int n_arguments)
{
  if (!accept_token(p, "(")) {
    report_error(p, "expected ( after a function's name");
    return;
  }
  for (int i = 0; i < n_arguments && !p->problem; ++i) {
    if (i > 0 && !accept_token(p, ",")) report_error(p, "expected a comma and another argument");
    else parse_choice(p);
  }
  if (!p->problem && !accept_token(p, ")")) report_error(p, "expected )");
  emit(p, op, 0, 0.0);
}

/* The variable whose name stands here, the longest; -1: none. */
static int find_variable(const parser *p, size_t *length)
{
  int best = -1;
  *length  = 0;
  for (int i = 0; i < p->n_vars; ++i) {
    const size_t n = strlen(p->names[i]);
    if (n > *length && strncmp(p->names[i], p->at, n) == 0 && !is_letter(p->at[n]) && !is_digit(p->at[n])) best = i, *length = n;
  }
  return best;
}

static void parse_name(parser *p)
{
  const char *start = p->at;
  size_t      n;
  const int   var = find_variable(p, &n);
  if (var >= 0) {
    p->at += n;
    emit(p, OP_VARIABLE, var, 0.0);
    return;
  }
  while (is_letter(*p->at) || is_digit(*p->at)) ++p->at;
  n = (size_t)(p->at - start);
#define X(name, count)                                                                                                                     \
  if (n == strlen(#name) && strncmp(#name, start, n) == 0) {                                                                               \
    parse_call(p, OP_##name, count);                                                                                                       \
    return;                                                                                                                                \
  }
  FUNCTION_TABLE(X)
#undef X
  if (n == 2 && strncmp("pi", start, 2) == 0) emit(p, OP_CONSTANT, 0, 3.14159265358979323846);
  else if (n == 1 && *start == 'e') emit(p, OP_CONSTANT, 0, 2.71828182845904523536);
  else {
    const char *logical = n == 3 && strncmp("and", start, 3) == 0   ? "&&"
                          : n == 2 && strncmp("or", start, 2) == 0  ? "||"
                          : n == 3 && strncmp("not", start, 3) == 0 ? "!"
                                                                    : NULL;
    p->at               = start;
    report_error(p, logical ? problem_at(logical) : "unknown name");
  }
}

static void parse_primary(parser *p)
{
  skip_space(p);
  if (accept_token(p, "(")) {
    parse_choice(p);
    if (!p->problem && !accept_token(p, ")")) report_error(p, "expected )");
  } else if (is_digit(*p->at) || *p->at == '.') {
    const char  *end;
    const double x = key_text_strtod(p->at, &end); /* in any locale */
    if (end == p->at || *end == 'x' || *end == 'X' || !isfinite(x)) report_error(p, "malformed number");
    else p->at = end;
    emit(p, OP_CONSTANT, 0, x);
  } else if (is_letter(*p->at)) {
    parse_name(p);
  } else {
    report_error(p, *p->at && strchr("!*&|=", *p->at) ? problem_at(p->at) : *p->at ? "expected a number, a name or (" : "unexpected end");
  }
}

/* Every recursion passes here: the one place to bound its depth. -x^2 is -(x^2); 2^-3 is allowed. */
static void parse_unary(parser *p)
{
  if (++p->depth > EXPRESSION_MAX_DEPTH) report_error(p, "nested too deeply");
  if (!p->problem) {
    if (accept_token(p, "-")) {
      parse_unary(p);
      emit(p, OP_NEGATE, 0, 0.0);
    } else if (accept_token(p, "+")) {
      parse_unary(p);
    } else {
      parse_primary(p);
      if (!p->problem && accept_token(p, "^")) {
        parse_unary(p);
        emit(p, OP_pow, 0, 0.0);
      }
    }
  }
  --p->depth;
}

static void parse_product(parser *p)
{
  parse_unary(p);
  while (!p->problem) {
    const operation op = accept_token(p, "*") ? OP_MULTIPLY : accept_token(p, "/") ? OP_DIVIDE : OP_CONSTANT;
    if (op == OP_CONSTANT) return;
    parse_unary(p);
    emit(p, op, 0, 0.0);
  }
}

static void parse_sum(parser *p)
{
  parse_product(p);
  while (!p->problem) {
    const operation op = accept_token(p, "+") ? OP_ADD : accept_token(p, "-") ? OP_SUBTRACT : OP_CONSTANT;
    if (op == OP_CONSTANT) return;
    parse_product(p);
    emit(p, op, 0, 0.0);
  }
}

static void parse_comparison(parser *p)
{
  static const struct {
    const char *token;
    operation   op;
  } comparisons[] = {{"<=", OP_LESS_EQUAL}, {">=", OP_GREATER_EQUAL}, {"==", OP_EQUAL},
                     {"!=", OP_NOT_EQUAL},  {"<", OP_LESS},           {">", OP_GREATER}};
  parse_sum(p);
  for (size_t i = 0; i < sizeof comparisons / sizeof *comparisons && !p->problem; ++i)
    if (accept_token(p, comparisons[i].token)) {
      parse_sum(p);
      emit(p, comparisons[i].op, 0, 0.0);
      return;
    }
}

static void parse_choice(parser *p)
{
  if (++p->depth > EXPRESSION_MAX_DEPTH) report_error(p, "nested too deeply");
  if (!p->problem) parse_comparison(p);
  if (!p->problem && accept_token(p, "?")) {
    parse_choice(p);
    if (!p->problem && !accept_token(p, ":")) report_error(p, "expected : after ?");
    if (!p->problem) parse_choice(p);
    emit(p, OP_SELECT, 0, 0.0);
  }
  --p->depth;
}

/* --- evaluation ------------------------------------------------------------------------------------------------------ */

typedef struct {
  double v, d;
} dual;

/* NOLINTBEGIN(clang-analyzer-core.*): that programs balance the stack is expression_compile()'s promise */
static dual dual_pow(dual a, dual b)
{
  const double v = pow(a.v, b.v);
  /* b constant: also right for a <= 0, where log a is not */
  double d = b.v == 0.0 ? 0.0 : b.v * pow(a.v, b.v - 1.0) * a.d;
  if (b.d != 0.0) d += v * log(a.v) * b.d;
  return (dual){v, d};
}

static dual apply_one(operation op, dual a)
{
  switch (op) {
  case OP_NEGATE: return (dual){-a.v, -a.d};
  case OP_sin: return (dual){sin(a.v), cos(a.v) * a.d};
  case OP_cos: return (dual){cos(a.v), -sin(a.v) * a.d};
  case OP_tan: return (dual){tan(a.v), a.d / (cos(a.v) * cos(a.v))};
  case OP_asin: return (dual){asin(a.v), a.d / sqrt(1.0 - a.v * a.v)};
  case OP_acos: return (dual){acos(a.v), -a.d / sqrt(1.0 - a.v * a.v)};
  case OP_atan: return (dual){atan(a.v), a.d / (1.0 + a.v * a.v)};
  case OP_sqrt: return (dual){sqrt(a.v), a.d == 0.0 ? 0.0 : a.d / (2.0 * sqrt(a.v))};
  case OP_exp: return (dual){exp(a.v), exp(a.v) * a.d};
  case OP_log: return (dual){log(a.v), a.d / a.v};
  case OP_abs: return (dual){fabs(a.v), a.v < 0.0 ? -a.d : a.d};
  case OP_floor: return (dual){floor(a.v), 0.0};
  default: return (dual){ceil(a.v), 0.0};
  }
}

static dual apply_two(operation op, dual a, dual b)
{
  switch (op) {
  case OP_ADD: return (dual){a.v + b.v, a.d + b.d};
  case OP_SUBTRACT: return (dual){a.v - b.v, a.d - b.d};
  case OP_MULTIPLY: return (dual){a.v * b.v, a.d * b.v + a.v * b.d};
  case OP_DIVIDE: return (dual){a.v / b.v, (a.d - a.v / b.v * b.d) / b.v};
  case OP_LESS: return (dual){a.v < b.v, 0.0};
  case OP_LESS_EQUAL: return (dual){a.v <= b.v, 0.0};
  case OP_GREATER: return (dual){a.v > b.v, 0.0};
  case OP_GREATER_EQUAL: return (dual){a.v >= b.v, 0.0};
  case OP_EQUAL: return (dual){a.v == b.v, 0.0};
  case OP_NOT_EQUAL: return (dual){a.v != b.v, 0.0};
  case OP_atan2: return (dual){atan2(a.v, b.v), (b.v * a.d - a.v * b.d) / (a.v * a.v + b.v * b.v)};
  case OP_min: return a.v <= b.v ? a : b;
  case OP_max: return a.v >= b.v ? a : b;
  default: return dual_pow(a, b);
  }
}

static int n_operands(operation op)
{
  switch (op) {
  case OP_CONSTANT:
  case OP_VARIABLE: return 0;
  case OP_TABLE:
  case OP_NEGATE: return 1;
  case OP_SELECT: return 3;
#define X(name, n)                                                                                                                         \
  case OP_##name: return n;
    FUNCTION_TABLE(X)
#undef X
  default: return 2;
  }
}

/* Deepest stack the code can need: what the parser may nest, a few values per level. */
enum { STACK = 8 * EXPRESSION_MAX_DEPTH };

static int stack_needed(const expression *e)
{
  int now = 0, most = 0;
  for (int i = 0; i < e->n; ++i) {
    now += 1 - n_operands(e->code[i].op);
    most = now > most ? now : most;
  }
  return most;
}

/* Straight from row to row, level beyond them. At a row the slope is that of the piece which ends there, also if the argument is off
 * it by rounding. */
static dual look_up(const expression *e, dual a)
{
  const double *row = e->row;
  int           low = 0, high = e->n_rows - 1;
  if (!(a.v > row[0])) return (dual){row[1], 0.0};
  if (a.v > row[2 * high] + 1e-9 * (row[2 * high] - row[2 * high - 2])) return (dual){row[2 * high + 1], 0.0};
  while (high - low > 1) {
    const int middle = (low + high) / 2;
    if (a.v > row[2 * middle] + 1e-9 * (row[2 * middle] - row[2 * middle - 2])) low = middle;
    else high = middle;
  }
  const double slope = (row[2 * high + 1] - row[2 * low + 1]) / (row[2 * high] - row[2 * low]);
  return (dual){row[2 * low + 1] + slope * (a.v - row[2 * low]), slope * a.d};
}

static bool is_comparison(operation op)
{
  return op == OP_LESS || op == OP_LESS_EQUAL || op == OP_GREATER || op == OP_GREATER_EQUAL || op == OP_EQUAL || op == OP_NOT_EQUAL;
}

/* is_finite may be NULL. */
static dual expression_run(const expression *e, const double *vars, int var, bool *is_finite)
{
  dual stack[STACK];
  int  top = 0;
  for (int i = 0; i < e->n; ++i) {
    const instruction *c = &e->code[i];
    switch (n_operands(c->op)) {
    case 0: stack[top++] = c->op == OP_CONSTANT ? (dual){c->constant, 0.0} : (dual){vars[c->var], c->var == var ? 1.0 : 0.0}; break;
    case 1: stack[top - 1] = c->op == OP_TABLE ? look_up(e, stack[top - 1]) : apply_one(c->op, stack[top - 1]); break;
    case 2:
      --top;
      if (is_finite && is_comparison(c->op)) *is_finite = *is_finite && isfinite(stack[top - 1].v) && isfinite(stack[top].v);
      stack[top - 1] = apply_two(c->op, stack[top - 1], stack[top]);
      break;
    default: top -= 2; stack[top - 1] = stack[top - 1].v != 0.0 ? stack[top] : stack[top + 1];
    }
  }
  if (is_finite) *is_finite = *is_finite && isfinite(stack[0].v);
  return stack[0]; /* cppcheck-suppress uninitvar */
}

double expression_value(const expression *e, const double *vars) { return expression_run(e, vars, -1, NULL).v; }

double expression_value_checked(const expression *e, const double *vars, bool *is_finite)
{
  *is_finite = true;
  return expression_run(e, vars, -1, is_finite).v;
}

double expression_derivative(const expression *e, const double *vars, int var, double *value)
{
  const dual r = expression_run(e, vars, var, NULL);
  if (value) *value = r.v;
  return r.d;
}
/* NOLINTEND(clang-analyzer-core.*) */

PetscErrorCode expression_compile(const char *text, int n_vars, const char *const *names, expression **out, int *place, char *message,
                                  size_t size)
{
  PetscFunctionBegin;
  parser p = {.text = text, .at = text, .n_vars = n_vars, .names = names};
  PetscCall(memory_alloc("expression", 1, sizeof(expression), out));
  p.e = *out;
  if (strlen(text) > EXPRESSION_MAX_LENGTH) report_error(&p, "too long");
  if (!p.problem) parse_choice(&p);
  skip_space(&p);
  if (!p.problem && *p.at) report_error(&p, problem_at(p.at));
  if (!p.problem && stack_needed(*out) > STACK) report_error(&p, "nested too deeply");
  if (p.problem) {
    expression_destroy(out);
    PetscCheck(!p.is_out_of_memory, PETSC_COMM_SELF, PETSC_ERR_MEM,
               "out of memory: no space for an expression of %d characters; use a smaller scene or a larger machine", (int)strlen(text));
    if (message && size) snprintf(message, size, "%s", p.problem);
    if (place) *place = (int)(p.where - text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode expression_create_table(int n_rows, const double *row, expression **out)
{
  PetscFunctionBegin;
  PetscCheck(n_rows >= 2, PETSC_COMM_SELF, PETSC_ERR_ARG_SIZ, "an interpolation table of %d rows; expected at least 2", n_rows);
  PetscCall(memory_alloc("expression", 1, sizeof(expression), out));
  expression    *e    = *out;
  PetscErrorCode code = MEMORY_ALLOC("expression", ARRAY(e->code, 2), ARRAY(e->row, 2 * (int64_t)n_rows));
  if (code) expression_destroy(out);
  PetscCall(code);
  e->code[0] = (instruction){OP_VARIABLE, 0, 0.0};
  e->code[1] = (instruction){OP_TABLE, 0, 0.0};
  e->n = e->capacity = 2;
  e->n_rows          = n_rows;
  memcpy(e->row, row, 2 * (size_t)n_rows * sizeof *row);
  PetscFunctionReturn(PETSC_SUCCESS);
}

bool expression_uses(const expression *e, int var)
{
  for (int i = 0; i < e->n; ++i)
    if (e->code[i].op == OP_VARIABLE && e->code[i].var == var) return true;
  return false;
}

void expression_word(const char *text, int place, size_t size, char *word)
{
  size_t n = 0;
  for (const char *c = text + place; is_letter(*c) || (n > 0 && is_digit(*c)); ++c)
    if (n + 1 < size) word[n++] = *c;
  word[n] = '\0';
}

void expression_destroy(expression **e)
{
  if (!*e) return;
  MEMORY_FREE(&(*e)->code, &(*e)->row, e);
}

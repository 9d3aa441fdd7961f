/* Expressions: values, derivatives against central differences, and errors with their positions. */
#include "test.h"
#include <string.h>
#include "core/expression.h"

static double value(const char *text, double t, double x)
{
  static const char *const names[] = {"t", "x"};
  expression              *e;
  char                     message[128];
  assert_ok(expression_compile(text, 2, names, &e, NULL, message, sizeof message));
  if (!e) fail_msg("%s: %s", text, message);
  const double vars[] = {t, x}, v = expression_value(e, vars);
  expression_destroy(&e);
  return v;
}

static void test_values(void **state)
{
  (void)state;
  assert_close(value("1 + 2*3^2 - 4/2", 0, 0), 17, 0);
  assert_close(value("-2^2", 0, 0), -4, 0);
  assert_close(value("2^3^2", 0, 0), 512, 0);
  assert_close(value("2^-1", 0, 0), 0.5, 0);
  assert_close(value("8 - 4 - 2", 0, 0), 2, 0);
  assert_close(value("t < 1 ? x : -x", 0.5, 3), 3, 0);
  assert_close(value("t < 1 ? x : t < 2 ? 7 : -x", 1.5, 3), 7, 0);
  assert_close(value("max(t, min(x, 10)) + abs(-1)", 2, 30), 11, 0);
  assert_close(value("atan2(1, 1)*4 - pi", 0, 0), 0, 1e-15);
  assert_close(value("1e-3*t + .5", 1000, 0), 1.5, 1e-15);
  assert_no_leak();
}

static void test_derivatives(void **state)
{
  (void)state;
  static const char *const names[] = {"t"};
  static const char *const texts[] = {"sin(3*t)^2",
                                      "exp(-t)*cos(t)",
                                      "t^3/(1+t^2)",
                                      "sqrt(1+t)*log(2+t)",
                                      "atan(t)+asin(t/3)-acos(t/4)+tan(t/2)",
                                      "atan2(t, 2)",
                                      "pow(2, t)",
                                      "t > 0.1 ? t*t : 5",
                                      "max(t, t^2) + min(3*t, 1) + abs(t - 2)",
                                      "t^t"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
    expression *e;
    double      v;
    assert_ok(expression_compile(texts[i], 1, names, &e, NULL, NULL, 0));
    assert_non_null(e);
    const double t = 0.7, h = 1e-5, lo = t - h, hi = t + h;
    const double d = expression_derivative(e, &t, 0, &v), difference = (expression_value(e, &hi) - expression_value(e, &lo)) / (2 * h);
    assert_close(d, difference, 1e-8 * (1 + fabs(d))); /* h^2 truncation, eps/h round-off */
    assert_close(v, expression_value(e, &t), 0);
    expression_destroy(&e);
  }
  assert_no_leak();
}

static void test_errors(void **state)
{
  (void)state;
  static const struct {
    const char *text, *says;
    int         place;
  } cases[]                        = {{"", "unexpected end", 0},
                                      {"1 +", "unexpected end", 3},
                                      {"foo(1)", "unknown name", 0},
                                      {"sin 1", "expected (", 4},
                                      {"min(1)", "expected a comma", 5},
                                      {"(1", "expected )", 2},
                                      {"1 2", "unexpected character", 2},
                                      {"1 ? 2", "expected :", 5},
                                      {"0x10", "malformed number", 0},
                                      {"1e999", "malformed number", 0},
                                      {"a = 1", "unknown name", 0},
                                      {"t $ 2", "unexpected character", 2},
                                      {"t && 1", "no operator \"and\"", 2},
                                      {"t || 1", "no operator \"or\"", 2},
                                      {"t and 1", "no operator \"and\"", 2},
                                      {"t or 1", "no operator \"or\"", 2},
                                      {"not t", "no operator \"not\"", 0},
                                      {"!t", "no operator \"not\"", 0},
                                      {"t ** 2", "a power is written a^b", 3},
                                      {"t = 1", "a == b", 2},
                                      {"0 < t < 1", "cannot be chained", 6},
                                      {"0,5 * t", "the decimal mark is a point", 1}};
  static const char *const names[] = {"t"};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    expression *e;
    int         place        = -1;
    char        message[128] = "";
    assert_ok(expression_compile(cases[i].text, 1, names, &e, &place, message, sizeof message));
    if (e) fail_msg("%s was accepted", cases[i].text);
    if (!strstr(message, cases[i].says)) fail_msg("%s: message \"%s\"", cases[i].text, message);
    assert_int_equal(place, cases[i].place);
  }
  char deep[1001];
  memset(deep, '(', 1000);
  deep[1000] = '\0';
  expression *e;
  assert_ok(expression_compile(deep, 0, NULL, &e, NULL, NULL, 0));
  assert_null(e);
  memset(deep, '-', 999);
  assert_ok(expression_compile(deep, 0, NULL, &e, NULL, NULL, 0));
  assert_null(e);
  assert_no_leak();
}

/* Names of variables may be paths of keys; the longest that fits counts, and a name ends where a word ends. */
static void test_names(void **state)
{
  (void)state;
  static const char *const names[] = {"a", "a.b", "a.b[2]", "ab"};
  static const double      vars[]  = {1, 20, 300, 4000};
  static const struct {
    const char *text;
    double      value;
    int         uses;
  } row[] = {{"a", 1, 1}, {"a.b+a", 21, 3}, {"a.b[2]*2", 600, 4}, {"ab - a", 3999, 9}, {"(a.b)", 20, 2}, {"7", 7, 0}};
  for (size_t i = 0; i < sizeof row / sizeof *row; ++i) {
    expression *e;
    assert_ok(expression_compile(row[i].text, 4, names, &e, NULL, NULL, 0));
    assert_non_null(e);
    assert_true(expression_value(e, vars) == row[i].value);
    for (int k = 0; k < 4; ++k) assert_int_equal(expression_uses(e, k), row[i].uses >> k & 1);
    expression_destroy(&e);
  }
  static const char *const bad[] = {"a.c", "abc", "a.b[3]", "b"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
    expression *e;
    assert_ok(expression_compile(bad[i], 4, names, &e, NULL, NULL, 0));
    assert_null(e);
  }
  assert_no_leak();
}

/* Random texts of the tokens of the language: no crash, no leak. Valid ones have the same value in parentheses, and with dual numbers. */
static void test_random_texts(void **state)
{
  (void)state;
  static const char *const tokens[] = {"1", "t", "(", ")", "+",  "-",  "*",  "/", "^", "sin(", "max(",
                                       ",", "?", ":", "<", "==", ".5", "pi", " ", "e", "2e3"};
  static const char *const names[]  = {"t"};
  uint64_t                 seed     = 1;
  int                      n_valid  = 0;
  for (int i = 0; i < 20000; ++i) {
    char text[256] = "";
    for (int k = 0; k <= i % 12; ++k) {
      seed = seed * 6364136223846793005u + 1442695040888963407u;
      strcat(text, tokens[(seed >> 33) % (sizeof tokens / sizeof *tokens)]);
    }
    expression *e, *same;
    char        between[260];
    assert_ok(expression_compile(text, 1, names, &e, NULL, NULL, 0));
    if (!e) continue;
    const double t = 0.3;
    double       value;
    snprintf(between, sizeof between, "(%s)", text);
    assert_ok(expression_compile(between, 1, names, &same, NULL, NULL, 0));
    assert_non_null(same);
    (void)expression_derivative(e, &t, 0, &value);
    const double values[] = {expression_value(e, &t), expression_value(same, &t), value};
    for (int k = 1; k < 3; ++k)
      if (values[k] != values[0] && !(isnan(values[k]) && isnan(values[0]))) fail_msg("%s: %g and %g", text, values[0], values[k]);
    expression_destroy(&same);
    expression_destroy(&e);
    ++n_valid;
  }
  assert_true(n_valid > 20);
  assert_no_leak();
}

static void test_table(void **state)
{
  (void)state;
  static const double row[] = {-1.0, 2.0, 0.2, 5.0, 0.3, 4.0, 2.0, 4.0};
  static const struct {
    double x, value, slope;
  } there[] = {{-3.0, 2.0, 0.0},  {-1.0, 2.0, 0.0},        {-0.4, 3.5, 2.5}, {0.2, 5.0, 2.5}, {0.25, 4.5, -10.0},
               {0.3, 4.0, -10.0}, {0.1 + 0.2, 4.0, -10.0}, {1.0, 4.0, 0.0},  {2.0, 4.0, 0.0}, {9.0, 4.0, 0.0}}; /* 0.1 + 0.2 > 0.3 */
  expression *e;
  assert_ok(expression_create_table(4, row, &e));
  for (size_t i = 0; i < sizeof there / sizeof *there; ++i) {
    double value, x = there[i].x;
    assert_close(expression_value(e, &x), there[i].value, 1e-14);
    assert_close(expression_derivative(e, &x, 0, &value), there[i].slope, 1e-13);
    assert_close(value, there[i].value, 1e-14);
  }
  assert_true(expression_uses(e, 0) && !expression_uses(e, 1));
  expression_destroy(&e);
  assert_no_leak();
}

/* Overflow and undefined values are found in the result and on both sides of comparisons, whose own results are always finite. */
static void test_checked_values(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    double      value;
    bool        is_finite;
  } cases[] = {
      {"t + 1", 3, true},         {"exp(1000*t)", INFINITY, false},     {"exp(1000*t) > 1", 1, false}, {"1 < exp(1000*t)", 1, false},
      {"sqrt(-t) < 0", 0, false}, {"t > 1 ? 5 : exp(1000*t)", 5, true}, {"1/exp(1000*t)", 0, true},    {"t == 2", 1, true}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    static const char *const names[] = {"t"};
    const double             t       = 2.0;
    expression              *e;
    bool                     is_finite;
    assert_ok(expression_compile(cases[i].text, 1, names, &e, NULL, NULL, 0));
    assert_true(expression_value_checked(e, &t, &is_finite) == cases[i].value);
    if (is_finite != cases[i].is_finite) fail_msg("%s", cases[i].text);
    expression_destroy(&e);
  }
  assert_no_leak();
}

TEST_MAIN(cmocka_unit_test(test_values), cmocka_unit_test(test_checked_values), cmocka_unit_test(test_derivatives),
          cmocka_unit_test(test_errors), cmocka_unit_test(test_names), cmocka_unit_test(test_random_texts), cmocka_unit_test(test_table))

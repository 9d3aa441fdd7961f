#include "test.h"
#include <locale.h>
#include <string.h>
#include "core/key_text.h"

static void test_whole_texts_are_numbers_or_not(void **state)
{
  static const struct {
    const char     *text;
    key_text_status status;
    double          value;
  } reals[] = {
      {"0", KEY_TEXT_OK, 0},
      {"-0", KEY_TEXT_OK, -0.0},
      {"+1", KEY_TEXT_OK, 1},
      {".5", KEY_TEXT_OK, 0.5},
      {"5.", KEY_TEXT_OK, 5},
      {"-1.5e-3", KEY_TEXT_OK, -1.5e-3},
      {"007", KEY_TEXT_OK, 7},
      {"1E3", KEY_TEXT_OK, 1000},
      {"4.9e-324", KEY_TEXT_OK, 4.9e-324},
      {"1e-400", KEY_TEXT_OK, 0},
      {"1e999", KEY_TEXT_TOO_LARGE, 0},
      {"-1e309", KEY_TEXT_TOO_LARGE, 0},
      {"inf", KEY_TEXT_NOT_FINITE, 0},
      {"-.inf", KEY_TEXT_NOT_FINITE, 0},
      {"NaN", KEY_TEXT_NOT_FINITE, 0},
      {"", KEY_TEXT_NOT_A_NUMBER, 0},
      {".", KEY_TEXT_NOT_A_NUMBER, 0},
      {"-", KEY_TEXT_NOT_A_NUMBER, 0},
      {"1e", KEY_TEXT_NOT_A_NUMBER, 0},
      {"1e+", KEY_TEXT_NOT_A_NUMBER, 0},
      {" 1", KEY_TEXT_NOT_A_NUMBER, 0},
      {"1 ", KEY_TEXT_NOT_A_NUMBER, 0},
      {"0x10", KEY_TEXT_NOT_A_NUMBER, 0},
      {"-0x10", KEY_TEXT_NOT_A_NUMBER, 0},
      {"00x1", KEY_TEXT_NOT_A_NUMBER, 0},
      {"1_000", KEY_TEXT_NOT_A_NUMBER, 0},
      {"1,5", KEY_TEXT_NOT_A_NUMBER, 0},
      {"1.2.3", KEY_TEXT_NOT_A_NUMBER, 0},
      {"--1", KEY_TEXT_NOT_A_NUMBER, 0},
      {"e3", KEY_TEXT_NOT_A_NUMBER, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof reals / sizeof *reals; ++i) {
    double x = 0;
    if (key_text_real(reals[i].text, &x) != reals[i].status) fail_msg("\"%s\"", reals[i].text);
    if (reals[i].status == KEY_TEXT_OK) assert_close(x, reals[i].value, 0);
  }
}

static void test_whole_numbers_lose_no_digit(void **state)
{
  static const struct {
    const char     *text;
    key_text_status status;
    int64_t         value;
  } ints[] = {
      {"0", KEY_TEXT_OK, 0},
      {"-12", KEY_TEXT_OK, -12},
      {"010", KEY_TEXT_OK, 10},
      {"1e6", KEY_TEXT_OK, 1000000},
      {"2.0", KEY_TEXT_OK, 2},
      {"2.5e1", KEY_TEXT_OK, 25},
      {"9223372036854775807", KEY_TEXT_OK, INT64_MAX},
      {"9007199254740993", KEY_TEXT_OK, 9007199254740993},
      {"9007199254740992.0", KEY_TEXT_OK, 9007199254740992},
      {"9223372036854775808", KEY_TEXT_TOO_LARGE, 0},
      {"-9223372036854775808", KEY_TEXT_TOO_LARGE, 0},
      {"1e16", KEY_TEXT_TOO_LARGE, 0},
      {"2.5", KEY_TEXT_NOT_WHOLE, 0},
      {"1e-3", KEY_TEXT_NOT_WHOLE, 0},
      {"x", KEY_TEXT_NOT_A_NUMBER, 0},
      {"1e999", KEY_TEXT_TOO_LARGE, 0},
      {"1-2", KEY_TEXT_NOT_A_NUMBER, 0},
      {"+-1", KEY_TEXT_NOT_A_NUMBER, 0},
  };
  (void)state;
  for (size_t i = 0; i < sizeof ints / sizeof *ints; ++i) {
    int64_t x = 0;
    if (key_text_int(ints[i].text, &x) != ints[i].status) fail_msg("\"%s\"", ints[i].text);
    if (ints[i].status == KEY_TEXT_OK && x != ints[i].value) fail_msg("\"%s\" is %lld", ints[i].text, (long long)x);
  }
}

static void test_locale_does_not_matter(void **state)
{
  static const char *const names[] = {"de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "nl_NL.UTF-8"};
  const char              *end, *set = NULL;
  (void)state;
  for (size_t i = 0; i < sizeof names / sizeof *names && !set; ++i) set = setlocale(LC_NUMERIC, names[i]);
  const double x = key_text_strtod("1.5e3 m", &end); /* where no such locale is installed this still tests the end */
  setlocale(LC_NUMERIC, "C");
  assert_close(x, 1500, 0);
  assert_string_equal(end, " m");
  assert_close(key_text_strtod("-0x1Fp3", &end), 0, 0); /* strtod alone would go on, reading hexadecimal */
  assert_string_equal(end, "x1Fp3");
}

static void test_units_give_a_hint(void **state)
{
  static const struct {
    const char *text, *hint;
  } cases[] = {
      {"5 mm", "5 mm is 0.005 m"},
      {"5mm", "5 mm is 0.005 m"},
      {"-1.5e2 km/h", "-1.5e2 km/h is -41.6666667 m/s"},
      {"35 MPa", "35 MPa is 35000000 Pa"},
      {"10 %", "10 % is 0.1"},
      {"3 \xc2\xb5m", "3 \xc2\xb5m is 3e-06 m"},
      {"5", ""},
      {"5 apples", ""},
      {"mm", ""},
      {"", ""},
  };
  char hint[100];
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    key_text_unit_hint(cases[i].text, hint, sizeof hint);
    assert_string_equal(hint, cases[i].hint);
  }
}

static void test_reals_are_written_short_and_read_back(void **state)
{
  static const struct {
    double      x;
    const char *text;
  } row[] = {{3, "3"},
             {-0.0, "-0"},
             {1e6, "1000000"},
             {9007199254740991.0, "9007199254740991"},
             {1e16, "1e+16"},
             {0.1, "0.1"},
             {0.1 + 0.2, "0.30000000000000004"},
             {1e-9, "1e-09"},
             {-2.5, "-2.5"},
             {5e-324, "4.94065645841247e-324"}};
  char   text[KEY_TEXT_REAL];
  double x = 1;
  (void)state;
  for (size_t i = 0; i < sizeof row / sizeof *row; ++i) assert_string_equal(key_text_of_real(row[i].x, text), row[i].text);
  for (int i = 0; i < 2000; ++i) {
    double back;
    x = fmod(x * 1.37e3 + 0.1234567, 1e9) * (i % 2 ? 1e-7 : 1e3);
    assert_int_equal(key_text_real(key_text_of_real(x, text), &back), KEY_TEXT_OK);
    assert_true(back == x);
  }
}

/* printf with 15, 16 or 17 digits, whichever is the first to lead back. */
static void as_printf_would(double x, char text[KEY_TEXT_REAL])
{
  if (x == floor(x) && fabs(x) < 0x1p53) {
    snprintf(text, KEY_TEXT_REAL, "%.0f", x);
    return;
  }
  for (int digits = 15; digits <= 17; ++digits) {
    snprintf(text, KEY_TEXT_REAL, "%.*g", digits, x);
    if (strtod(text, NULL) == x) return;
  }
}

/* All exponents, subnormals among them; numbers of few digits; what carries to another power of ten. */
static void test_reals_are_written_as_printf_would(void **state)
{
  char     text[KEY_TEXT_REAL], wanted[KEY_TEXT_REAL];
  uint64_t bits = 88172645463325252u;
  (void)state;
  for (int i = 0; i < 300000; ++i) {
    double x;
    bits ^= bits << 13, bits ^= bits >> 7, bits ^= bits << 17;
    memcpy(&x, &bits, sizeof x);
    if (i % 4 == 1) x = (double)(int64_t)(bits % 2000001 - 1000000) * pow(10.0, (double)(bits >> 32) / 0x1p32 * 40.0 - 20.0);
    if (i % 4 == 2) x = (double)(int64_t)(bits % 200001 - 100000) / (i % 8 == 2 ? 1e3 : 1e8);
    if (i % 4 == 3) x = nextafter(pow(10.0, (double)(bits % 40) - 20.0), i % 8 == 3 ? 0.0 : INFINITY);
    if (!isfinite(x)) continue;
    as_printf_would(x, wanted);
    assert_string_equal(key_text_of_real(x, text), wanted);
  }
}

TEST_MAIN(cmocka_unit_test(test_reals_are_written_as_printf_would), cmocka_unit_test(test_whole_texts_are_numbers_or_not),
          cmocka_unit_test(test_reals_are_written_short_and_read_back), cmocka_unit_test(test_whole_numbers_lose_no_digit),
          cmocka_unit_test(test_locale_does_not_matter), cmocka_unit_test(test_units_give_a_hint))

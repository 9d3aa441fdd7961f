/* Conversion of texts to numbers and paths, see key_text.h. */
#define _GNU_SOURCE /* strtod_l */
#include "core/key_text.h"
#include "core/text.h"
#include "core/memory.h"
#include <errno.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Length of the decimal number at the beginning of the text, 0 if there is none. */
static size_t number_length(const char *s)
{
  size_t n = s[0] == '+' || s[0] == '-', digits = 0;
  for (; is_digit(s[n]); ++n) ++digits;
  if (s[n] == '.')
    for (++n; is_digit(s[n]); ++n) ++digits;
  if (digits == 0) return 0;
  if (s[n] == 'e' || s[n] == 'E') {
    const size_t sign = s[n + 1] == '+' || s[n + 1] == '-';
    if (is_digit(s[n + 1 + sign]))
      for (n += 1 + sign; is_digit(s[n]); ++n) continue;
  }
  return n;
}

double key_text_strtod(const char *text, const char **end)
{
  static locale_t c_locale = (locale_t)0;
  const size_t    n        = number_length(text);
  *end                     = text + n;
  if (n == 0) return 0.0;
  if (c_locale == (locale_t)0) c_locale = newlocale(LC_NUMERIC_MASK, "C", (locale_t)0);
  /* "0x10" is where strtod would go on, reading hexadecimal */
  const bool has_sign = !is_digit(text[0]) && text[0] != '.';
  if (n == (size_t)1 + has_sign && text[n - 1] == '0') return text[0] == '-' ? -0.0 : 0.0;
  return c_locale ? strtod_l(text, NULL, c_locale) : strtod(text, NULL);
}

/* d.dddd x 10^e of `precision` digits as "%.*g" has it, without trailing zeros. Rows of histories are full of such numbers, and printf is slow. */
static void write_digits(bool is_negative, uint64_t digits, int precision, int e, char *text)
{
  char d[20] = {0}, *c = text;
  int  n = precision;
  for (int i = precision - 1; i >= 0; --i, digits /= 10) d[i] = (char)('0' + digits % 10);
  while (n > 1 && d[n - 1] == '0') --n;
  if (is_negative) *c++ = '-';
  if (e < -4 || e >= precision) {
    *c++ = d[0];
    if (n > 1) *c++ = '.';
    for (int i = 1; i < n; ++i) *c++ = d[i];
    *c++ = 'e', *c++ = e < 0 ? '-' : '+';
    if (abs(e) > 99) *c++ = (char)('0' + abs(e) / 100);
    *c++ = (char)('0' + abs(e) / 10 % 10), *c++ = (char)('0' + abs(e) % 10), *c = 0;
    return;
  }
  if (e < 0) {
    *c++ = '0', *c++ = '.';
    for (int i = -1; i > e; --i) *c++ = '0';
  }
  for (int i = 0; i < n || i <= e; ++i) {
    if (e >= 0 && i == e + 1) *c++ = '.';
    *c++ = i < n ? d[i] : '0';
  }
  *c = 0;
}

/* 17 digits always lead back to x. It lies within 12 units of the last of them from any shorter number that does (half an ulp), but for subnormal ones. */
static const char *shortest(double x, char text[KEY_TEXT_REAL])
{
  const bool  is_negative = x < 0.0;
  const char *end;
  uint64_t    digits = 0;
  snprintf(text, KEY_TEXT_REAL, "%.16e", fabs(x));
  const char *c = text;
  for (; *c != 'e'; ++c)
    if (is_digit(*c)) digits = 10 * digits + (uint64_t)(*c - '0'); /* the only other character is the decimal point of the locale */
  const int e = (int)strtol(c + 1, NULL, 10);
  for (int precision = 15; precision < 17; ++precision) {
    const uint64_t unit = precision == 15 ? 100 : 10, fewer = (digits + unit / 2) / unit, back = fewer * unit;
    const uint64_t away = back > digits ? back - digits : digits - back, most = precision == 15 ? 1000000000000000 : 10000000000000000;
    if (away > 12 && fabs(x) > 1e-290) continue;
    const bool carries = fewer == most; /* 9.99... */
    if (digits % unit == unit / 2) {    /* a tie: more digits are necessary to round correctly */
      snprintf(text, KEY_TEXT_REAL, "%.*g", precision, x);
      for (char *point = text; *point; ++point) *point = *point == ',' ? '.' : *point; /* some locales */
    } else write_digits(is_negative, carries ? most / 10 : fewer, precision, e + carries, text);
    if (key_text_strtod(text, &end) == x) return text;
  }
  write_digits(is_negative, digits, 17, e, text);
  return text;
}

const char *key_text_of_real(double x, char text[KEY_TEXT_REAL])
{
  if (x == floor(x) && fabs(x) < 0x1p53) {
    if (x >= 0.0 && x < 10.0 && !signbit(x)) text[0] = (char)('0' + (int)x), text[1] = 0;
    else snprintf(text, KEY_TEXT_REAL, "%.0f", x); /* also "-0", which keeps its sign */
    return text;
  }
  if (isfinite(x)) return shortest(x, text);
  snprintf(text, KEY_TEXT_REAL, "%g", x);
  return text;
}

static bool is_not_finite_word(const char *s)
{
  static const char *const words[] = {"inf", "infinity", "nan", ".inf", ".nan"};
  s += *s == '+' || *s == '-';
  for (size_t i = 0; i < sizeof words / sizeof *words; ++i)
    if (!strcasecmp(s, words[i])) return true;
  return false;
}

key_text_status key_text_real(const char *text, double *value)
{
  const char *end;
  if (is_not_finite_word(text)) return KEY_TEXT_NOT_FINITE;
  const double x = key_text_strtod(text, &end);
  if (end == text || *end) return KEY_TEXT_NOT_A_NUMBER;
  if (!isfinite(x)) return KEY_TEXT_TOO_LARGE;
  *value = x;
  return KEY_TEXT_OK;
}

key_text_status key_text_int(const char *text, int64_t *value)
{
  double                x      = 0.0;
  const key_text_status status = key_text_real(text, &x);
  if (status != KEY_TEXT_OK) return status;
  if (text[strspn(text, "+-0123456789")] == 0) {
    errno             = 0;
    const long long i = strtoll(text, NULL, 10);
    if (errno == ERANGE || i == INT64_MIN) return KEY_TEXT_TOO_LARGE; /* the smallest one means "absent" */
    *value = i;
    return KEY_TEXT_OK;
  }
  if (x != floor(x)) return KEY_TEXT_NOT_WHOLE;
  if (fabs(x) > 9007199254740992.0) return KEY_TEXT_TOO_LARGE; /* 2^53: beyond it a double may have lost digits */
  *value = (int64_t)x;
  return KEY_TEXT_OK;
}

void key_text_unit_hint(const char *text, char *hint, size_t size)
{
  static const struct {
    const char *name;
    double      factor;
    const char *si;
  } units[] = {
      {"km", 1e3, "m"},
      {"m", 1, "m"},
      {"dm", 0.1, "m"},
      {"cm", 1e-2, "m"},
      {"mm", 1e-3, "m"},
      {"um", 1e-6, "m"},
      {"µm", 1e-6, "m"},
      {"in", 0.0254, "m"},
      {"ft", 0.3048, "m"},
      {"h", 3600, "s"},
      {"min", 60, "s"},
      {"s", 1, "s"},
      {"ms", 1e-3, "s"},
      {"us", 1e-6, "s"},
      {"µs", 1e-6, "s"},
      {"ns", 1e-9, "s"},
      {"t", 1e3, "kg"},
      {"kg", 1, "kg"},
      {"g", 1e-3, "kg"},
      {"mg", 1e-6, "kg"},
      {"GPa", 1e9, "Pa"},
      {"MPa", 1e6, "Pa"},
      {"kPa", 1e3, "Pa"},
      {"Pa", 1, "Pa"},
      {"bar", 1e5, "Pa"},
      {"psi", 6894.757293168, "Pa"},
      {"MN", 1e6, "N"},
      {"kN", 1e3, "N"},
      {"N", 1, "N"},
      {"mN", 1e-3, "N"},
      {"g/cm3", 1e3, "kg/m^3"},
      {"g/cm^3", 1e3, "kg/m^3"},
      {"kg/m3", 1, "kg/m^3"},
      {"kg/m^3", 1, "kg/m^3"},
      {"mm/s", 1e-3, "m/s"},
      {"cm/s", 1e-2, "m/s"},
      {"m/s", 1, "m/s"},
      {"km/h", 1 / 3.6, "m/s"},
      {"m/s2", 1, "m/s^2"},
      {"m/s^2", 1, "m/s^2"},
      {"rpm", 0.10471975511965977, "rad/s"},
      {"%", 0.01, ""},
  };
  const char  *end;
  const double x = key_text_strtod(text, &end);
  hint[0]        = 0;
  if (end == text || *end == 0) return;
  const char *unit = end + strspn(end, " ");
  for (size_t i = 0; i < sizeof units / sizeof *units; ++i)
    if (!strcmp(unit, units[i].name)) {
      (void)snprintf(hint, size, "%.*s %s is %.9g%s%s", (int)(end - text), text, unit, x * units[i].factor, *units[i].si ? " " : "",
                     units[i].si);
      return;
    }
}

/* ---- paths ---- */

static bool is_name(char c) { return is_digit(c) || c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

/* The variable at p (which points behind the dollar) goes into b; returns the first character behind it, NULL if there
 * is none or it is not set, with the reason in `problem`. */
static const char *expand_variable(text_buffer *b, const char *p, char *problem, size_t size)
{
  const bool  has_brace = *p == '{';
  const char *name      = p + has_brace;
  size_t      n         = 0;
  char        key[128];
  while (is_name(name[n])) ++n;
  if (n == 0 || n >= sizeof key || (has_brace && name[n] != '}')) {
    (void)snprintf(problem, size, "expected the name of a variable after \"$\" (write $$ for a dollar)");
    return NULL;
  }
  memcpy(key, name, n);
  key[n]            = 0;
  const char *value = getenv(key);
  if (!value) {
    (void)snprintf(problem, size, "the environment variable %s is not set", key);
    return NULL;
  }
  text_put(b, value);
  return name + n + has_brace;
}

static void expand(text_buffer *b, const char *text, char *problem, size_t size)
{
  const char *p = text;

  problem[0] = 0;
  if (p[0] == '~') {
    const char *home = getenv("HOME");
    if (p[1] != '/' && p[1] != 0) (void)snprintf(problem, size, "only \"~/\" is understood, not other users' homes");
    else if (!home) (void)snprintf(problem, size, "the environment variable HOME is not set");
    else text_printf(b, "%s", home);
    ++p;
  }
  while (*p && !problem[0]) {
    const size_t n = strcspn(p, "$");
    text_append(b, p, (int64_t)n);
    p += n;
    if (p[0] == '$' && p[1] == '$') {
      text_put(b, "$");
      p += 2;
    } else if (*p) {
      const char *next = expand_variable(b, p + 1, problem, size);
      if (next) p = next;
    }
  }
}

PetscErrorCode key_text_path(document *doc, const char *text, document_mark mark, const char **out, const char **problem)
{
  text_buffer expanded = {0}, whole = {0};
  char        why[192], cwd[4096];
  const char *slash = mark.file ? strrchr(mark.file, '/') : NULL;

  PetscFunctionBegin;
  *out = *problem = NULL;
  expand(&expanded, text, why, sizeof why);
  if (!why[0] && (!expanded.data || !expanded.data[0])) (void)snprintf(why, sizeof why, "the path is empty");
  /* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): no data has set why */
  if (!why[0] && expanded.data[0] != '/') {
    if (!slash || mark.file[0] != '/') {
      PetscCheck(getcwd(cwd, sizeof cwd), PETSC_COMM_SELF, PETSC_ERR_SYS, "cannot determine the current folder: %s", strerror(errno));
      text_printf(&whole, "%s/", strcmp(cwd, "/") ? cwd : "");
    }
    if (slash) text_append(&whole, mark.file, slash - mark.file + 1);
  }
  if (why[0]) {
    *problem = document_intern(doc, why);
  } else {
    text_join(&whole, &expanded);
    PetscCall(whole.code);
    *out = document_intern(doc, whole.data);
  }
  text_clear(&expanded);
  text_clear(&whole);
  PetscCheck(*out || *problem, PETSC_COMM_SELF, PETSC_ERR_MEM,
             "out of memory: no space for a path; use a smaller scene or a larger machine");
  PetscFunctionReturn(PETSC_SUCCESS);
}

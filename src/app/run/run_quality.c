/* Key table, bounds and texts of the quality block; see run_quality.h. */
#include "app/run/run_quality.h"
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "io/html.h"

/* Deeper overlaps change the geometry of contact: the normal and the side of a thin body are no longer reliable. Usual static penetrations
 * are 1e-4 to 1e-2 of a body. */
static const double OVERLAP_BOUND = 0.1;
/* A residual of 10 * solver.newton.tolerance (default 1e-3 |g|), the largest that is accepted by default, does at most this part of the work
 * of gravity. A larger increase has another cause. */
static const double ENERGY_BOUND = 1e-3;

typedef enum { ENTRY_int64_t, ENTRY_double, ENTRY_quality_text, ENTRY_quality_list } entry_type;
typedef struct {
  const char *name, *unit;
  entry_type  type;
  size_t      offset;
} entry;
static const entry entries[] = {
#define X(member, type, unit, help) {#member, unit, ENTRY_##type, offsetof(run_quality, member)},
    RUN_QUALITY_TABLE(X)
#undef X
};
enum { N_ENTRIES = sizeof entries / sizeof *entries };

#define KEY_OF_int64_t .type = KEY_INT, .fallback = "0", .min = 0, .max = INFINITY
#define KEY_OF_double .type = KEY_REAL, .is_optional = true
#define KEY_OF_quality_text .type = KEY_STRING, .fallback = "\"\""
#define KEY_OF_quality_list .type = KEY_STRINGS, .is_optional = true
static const key_spec keys[] = {
#define X(member, kind, unit_text, help_text)                                                                                              \
  {.name = #member, KEY_OF_##kind, .offset = offsetof(run_quality, member), .unit = unit_text, .help = help_text},
    RUN_QUALITY_TABLE(X)
#undef X
        {.name = NULL}};
const key_table run_quality_table = {
    .name = "result.quality",
    .help = "Numbers that show whether the results of a run can be trusted. If an entry exceeds its bound, the "
            "status is `finished, see quality`.",
    .size = sizeof(run_quality),
    .keys = keys};

static void add_sentence(run_quality *q, run_quality_sentences *to, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add_sentence(run_quality *q, run_quality_sentences *to, const char *format, ...)
{
  va_list   arguments;
  const int i = q->bad.n++;
  va_start(arguments, format);
  (void)vsnprintf(to->text[i], sizeof to->text[i], format, arguments);
  va_end(arguments);
  to->item[i] = (key_item){.value = to->text[i]};
}

void run_quality_evaluate(run_quality *q, run_quality_sentences *to)
{
  q->bad = (key_list){0, to->item};
  if (q->steps_above_tolerance > 0)
    add_sentence(
        q, to,
        "%lld of %lld steps accepted although the residual or a contact solver was above its tolerance, largest residual %.3g%s%.100s",
        (long long)q->steps_above_tolerance, (long long)q->steps, q->largest_residual, *q->largest_residual_body ? " in " : "",
        q->largest_residual_body);
  if (q->overlap_ratio > OVERLAP_BOUND)
    add_sentence(q, to, "bodies overlap by %.3g of the size of the smaller one, bound %g: %.200s", q->overlap_ratio, OVERLAP_BOUND,
                 q->overlap_ratio_bodies);
  if (q->energy_increase_ratio > ENERGY_BOUND)
    add_sentence(q, to, "the energy increased by %.3g J without external work, %.3g of the energy exchanged, bound %g", q->energy_increase,
                 q->energy_increase_ratio, ENERGY_BOUND);
  if (q->warnings > 0) add_sentence(q, to, "%lld warnings", (long long)q->warnings);
}

/* Value with unit; "" if the entry has none. Lists: item k. */
static void format_value(const run_quality *q, const entry *e, int k, size_t size, char *text)
{
  const void *at   = (const char *)q + e->offset;
  const char *unit = e->unit && strcmp(e->unit, "1") != 0 ? e->unit : "";
  text[0]          = '\0';
  switch (e->type) {
  case ENTRY_int64_t: snprintf(text, size, "%lld", (long long)*(const int64_t *)at); break;
  case ENTRY_double:
    if (isfinite(*(const double *)at)) snprintf(text, size, "%.4g%s%s", *(const double *)at, *unit ? " " : "", unit);
    break;
  case ENTRY_quality_text: snprintf(text, size, "%s", *(const char *const *)at); break;
  case ENTRY_quality_list: snprintf(text, size, "%s", (const char *)((const key_list *)at)->item[k].value); break;
  }
}

/* Call `put` with the name in words and the value of each entry that has one. */
static void visit_entries(const run_quality *q, void (*put)(const char *name, const char *value, const char *first, text_buffer *out),
                          const char *first, text_buffer *out)
{
  char name[64], value[1100];
  for (int i = 0; i < N_ENTRIES; ++i) {
    const entry *e = &entries[i];
    const int    n = e->type == ENTRY_quality_list ? ((const key_list *)(const void *)((const char *)q + e->offset))->n : 1;
    snprintf(name, sizeof name, "%s", e->name);
    for (char *c = name; *c; ++c)
      if (*c == '_') *c = ' ';
    for (int k = 0; k < n; ++k) {
      format_value(q, e, k, sizeof value, value);
      if (*value) put(k == 0 ? name : "", value, first, out);
    }
  }
}

static void put_line(const char *name, const char *value, const char *first, text_buffer *out)
{
  text_printf(out, "%s%-24s %s\n", first, name, value);
}
void run_quality_print(const run_quality *q, const char *first, text_buffer *out) { visit_entries(q, put_line, first, out); }

static void put_row(const char *name, const char *value, const char *first, text_buffer *out)
{
  (void)first;
  html_put(out, "<tr><th>%s</th><td>%s</td></tr>\n", name, value);
}
void run_quality_html(const run_quality *q, text_buffer *page) { visit_entries(q, put_row, "", page); }

static void put_words(const char *name, const char *value, const char *first, text_buffer *out)
{
  (void)first;
  text_printf(out, "%s%s %s", out->n > 0 ? ", " : "", name, value);
}
void run_quality_line(const run_quality *q, text_buffer *out)
{
  run_quality short_one     = *q;
  short_one.warning_texts.n = short_one.bad.n = 0;
  visit_entries(&short_one, put_words, "", out);
}

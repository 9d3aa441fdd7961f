/* The key tables of the sweep file: values, defaults, and errors. */
#include "app/sweep/sweep_keys.h"
#include "document_fixture.h"
#include "io/yaml.h"
#include <math.h>
#include <string.h>

static const void *read_text(const key_table *table, const char *text)
{
  const void *read = NULL;
  assert_ok(yaml_read_text("s.yaml", text, strlen(text), doc, d));
  assert_ok(key_table_read(table, doc, document_root(doc), "", d, &read));
  return read;
}

static void files_have_defaults(void **state)
{
  (void)state;
  begin();
  const sweep_file *f = read_text(&sweep_file_table, "{sweep: 1, name: s, repeat: {count: 3, seed: bodies.bed.seed}, where: [a > 1, b]}");
  assert_int_equal(diagnostics_count(d), 0);
  assert_string_equal(f->name, "s");
  assert_string_equal(f->description, "");
  assert_null(f->base);
  assert_null(f->vary);
  assert_int_equal(f->where.n, 2);
  assert_int_equal(f->repeat->count, 3);
  assert_int_equal(f->repeat->first, 1);
  assert_string_equal(f->repeat->seed, "bodies.bed.seed");
  assert_int_equal(f->resources->cores, 0);
  assert_int_equal(f->resources->retries, 0);
  assert_null(f->resources->memory);
  end();
}

static void entries_have_their_values(void **state)
{
  (void)state;
  begin();
  const sweep_entry *e = read_text(&sweep_entry_table, "range: {from: 1, to: 2, step: 0.5}");
  assert_true(e->range && !e->log && !e->zip && !e->latin_hypercube && !e->sobol);
  assert_close(e->range->bounds.from, 1, 0);
  assert_close(e->range->bounds.to, 2, 0);
  assert_close(e->range->step, 0.5, 0);
  assert_true(e->range->count == KEY_INT_ABSENT);
  e = read_text(&sweep_entry_table, "range: {from: 1, to: 2, count: 5}");
  assert_int_equal(e->range->count, 5);
  assert_true(isnan(e->range->step));
  e = read_text(&sweep_entry_table, "latin_hypercube: {count: 8, of: {mu: [0, 1]}}");
  assert_true(e->latin_hypercube && !e->sobol);
  assert_int_equal(e->latin_hypercube->seed, 1);
  e = read_text(&sweep_entry_table, "sobol: {count: 8, of: {mu: [0, 1]}}");
  assert_true(e->sobol->seed == KEY_INT_ABSENT);
  assert_string_equal(e->sobol->of->key[0], "mu");
  const sweep_interval *i = read_text(&sweep_interval_table, "{from: 1, to: 10, log: true}");
  assert_true(i->is_log && i->bounds.from == 1 && i->bounds.to == 10);
  assert_int_equal(diagnostics_count(d), 0);
  end();
}

static void wrong_values_are_reported(void **state)
{
  (void)state;
  static const struct {
    const key_table *table;
    const char      *text, *says;
  } wrong[] = {{&sweep_file_table, "{sweep: 2, name: s}", "sweep: "},
               {&sweep_file_table, "{sweep: 1}", "missing required key \"name\""},
               {&sweep_file_table, "{sweep: 1, name: s, vry: {}}", "vry: unknown key; did you mean \"vary\"?"},
               {&sweep_file_table, "{sweep: 1, name: s, repeat: {count: 0}}", "repeat.count: "},
               {&sweep_file_table, "{sweep: 1, name: s, resources: {cores: 5000}}", "resources.cores: "},
               {&sweep_entry_table, "log: {from: 0, to: 1, count: 3}", "log.from: "},
               {&sweep_entry_table, "log: {from: 1, to: 2, count: 1}", "log.count: "},
               {&sweep_entry_table, "{log: {from: 1, to: 2, count: 3}, range: {from: 1, to: 2, count: 3}}", "log"},
               {&sweep_entry_table, "sobol: {count: 4, seed: -1, of: {}}", "sobol.seed: "}};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
    begin();
    (void)read_text(wrong[i].table, wrong[i].text);
    if (diagnostics_count(d) != 1) fail_msg("%d errors, not one: %s", diagnostics_count(d), wrong[i].text);
    if (!strstr(diagnostics_text(d, 0), wrong[i].says)) fail_msg("%s: %s", wrong[i].text, diagnostics_text(d, 0));
    end();
  }
}

TEST_MAIN(cmocka_unit_test(files_have_defaults), cmocka_unit_test(entries_have_their_values), cmocka_unit_test(wrong_values_are_reported))

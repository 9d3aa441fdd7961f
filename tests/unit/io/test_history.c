/* History tables: numbers read back to the same bits, and a resume cuts exactly what came after. */
#include "core/log.h"
#include "io/history.h"
#include "io_fixture.h"
#include <signal.h>
#include <sys/wait.h>

static const char *const names[] = {"step", "time", "energy", "slip"};
static const char *const units[] = {"1", "s", "J", NULL};
static char              folder[256], path[300];

static void set_up(void)
{
  folder_make(folder);
  snprintf(path, sizeof path, "%s/history.csv", folder);
}
static void tear_down(void)
{
  folder_remove(folder);
  assert_no_leak();
}

static void put_text(const char *text)
{
  FILE *out = fopen(path, "w");
  assert_non_null(out);
  fputs(text, out);
  fclose(out);
}

static void expect_text(const char *expected)
{
  char  text[4096] = "";
  FILE *in         = fopen(path, "r");
  assert_non_null(in);
  text[fread(text, 1, sizeof text - 1, in)] = 0;
  fclose(in);
  assert_string_equal(text, expected);
}

static void numbers_keep_their_bits(void **state)
{
  (void)state;
  history *h          = NULL;
  double   rows[6][4] = {{0, 0.1, 0.1 + 0.2, -0.0},
                         {1, 1.0 / 3.0, 5e-324, 1e300},
                         {2, 9007199254740993.0, -17, 1e17},
                         {123456789, 2.2250738585072011e-308, M_PI, INFINITY},
                         {9007199254740991.0, -1e-7, 100000, -INFINITY},
                         {4, 0.001, 1e22, 123456.789}};
  double  *back       = NULL;
  int      n_columns;
  int64_t  n_rows;

  set_up();
  assert_ok(history_open(path, 4, names, units, -1, &h));
  for (int i = 0; i < 6; ++i) {
    assert_ok(history_row(h, rows[i]));
    assert_ok(history_read(path, &n_columns, &n_rows, &back)); /* each row is there as soon as it is written */
    assert_int_equal(n_rows, i + 1);
    assert_int_equal(n_columns, 4);
    assert_memory_equal(back, rows, (size_t)(i + 1) * sizeof rows[0]);
    memory_free(&back);
  }
  assert_ok(history_flush(h));
  assert_ok(history_close(&h));
  assert_null(h);
  tear_down();
}

static void the_table_reads_well(void **state)
{
  (void)state;
  history     *h      = NULL;
  const double row[4] = {12, 0.1, -3, NAN};
  set_up();
  assert_ok(history_open(path, 4, names, units, -1, &h));
  assert_ok(history_row(h, row));
  assert_ok(history_close(&h));
  expect_text("step,time [s],energy [J],slip\n12,0.1,-3,nan\n");
  tear_down();
}

#define HEADER "step,time [s],energy [J],slip\n"
static void resume_removes_later_rows(void **state)
{
  (void)state;
  static const struct {
    const char *before;
    int64_t     step;
    const char *after;
  } cases[] = {
      {HEADER "1,0,0,0\n2,0,0,0\n3,0,0,0\n", 2, HEADER "1,0,0,0\n2,0,0,0\n9,0,0,0\n"},
      {HEADER "1,0,0,0\n2,0,0,0\n", 5, HEADER "1,0,0,0\n2,0,0,0\n9,0,0,0\n"},
      {HEADER "1,0,0,0\n2,0,0,0\n3,0", 2, HEADER "1,0,0,0\n2,0,0,0\n9,0,0,0\n"}, /* killed within a row */
      {HEADER "1,0,0,0\n2,0,", 5, HEADER "1,0,0,0\n9,0,0,0\n"},
      {HEADER "1,0,0,0\n", 0, HEADER "9,0,0,0\n"},
      {HEADER, 3, HEADER "9,0,0,0\n"},
      {"step,ti", 3, HEADER "9,0,0,0\n"}, /* killed within the header */
      {"", 3, HEADER "9,0,0,0\n"},
      {NULL, 3, HEADER "9,0,0,0\n"},                /* no file */
      {HEADER "1,0,0,0\n", -1, HEADER "9,0,0,0\n"}, /* a new run */
      {"something else", -1, HEADER "9,0,0,0\n"},
  };
  const double row[4] = {9, 0, 0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    history *h = NULL;
    set_up();
    if (cases[i].before) put_text(cases[i].before);
    assert_ok(history_open(path, 4, names, units, cases[i].step, &h));
    assert_ok(history_row(h, row));
    assert_ok(history_close(&h));
    expect_text(cases[i].after);
    tear_down();
  }
}

static void foreign_tables_are_rejected_and_kept(void **state)
{
  (void)state;
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"step,time [s],energy [J]\n1,0,0\n", "history.csv:1: the columns differ"},
      {"a letter\n", "history.csv:1: the columns differ"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    history *h = NULL;
    set_up();
    put_text(cases[i].text);
    expect_message(history_open(path, 4, names, units, 5, &h), cases[i].message);
    assert_null(h);
    expect_text(cases[i].text);
    tear_down();
  }
  history          *h     = NULL;
  const char *const bad[] = {"a,b"};
  set_up();
  expect_message(history_open(path, 1, bad, units, -1, &h), "cannot be named");
  expect_message(history_open("/nowhere/history.csv", 4, names, units, -1, &h), "/nowhere/history.csv");
  tear_down();
}

/* An empty cell is a quantity without a value. Rows with one are rows like others for readers and for a resume. */
static void cells_may_be_empty(void **state)
{
  (void)state;
  const double row[4] = {2, HISTORY_EMPTY, 0.5, HISTORY_EMPTY};
  history     *h      = NULL;
  double      *back;
  int          n_columns;
  int64_t      n_rows;
  set_up();
  put_text(HEADER "1,,3,\n");
  assert_ok(history_open(path, 4, names, units, 1, &h));
  assert_ok(history_row(h, row));
  assert_ok(history_close(&h));
  expect_text(HEADER "1,,3,\n2,,0.5,\n");
  assert_ok(history_read(path, &n_columns, &n_rows, &back));
  assert_int_equal(n_rows, 2);
  const double expected[] = {1, 3, 2, 0.5};
  for (int i = 0; i < 4; ++i) {
    assert_true(back[2 * i] == expected[i]);
    assert_true(isnan(back[2 * i + 1]));
  }
  memory_free(&back);
  tear_down();
}

/* The state does not depend on a table: damage to one stops no run, the good rows go on, and the file as it was is kept. */
static void damaged_tables_are_repaired_and_kept(void **state)
{
  (void)state;
  static const struct {
    const char *before, *after, *says;
  } cases[] = {
      {HEADER "1,0,0,0\n2,0,0\n3,0,0,0\n", HEADER "1,0,0,0\n3,0,0,0\n9,0,0,0\n", "history.csv:3: not a row of 4 numbers"},
      {HEADER "1,0,0,0,0\n", HEADER "9,0,0,0\n", "history.csv:2: not a row"},
      {HEADER ",0,0,0\n1,0,0,\n", HEADER "1,0,0,\n9,0,0,0\n", "history.csv:2: not a row"}, /* a step is needed */
      {HEADER "1,0,x,0\n2,0,0,0\n", HEADER "2,0,0,0\n9,0,0,0\n", "history.csv:2: not a row"},
      {HEADER "1,0,0,0\n\n2,0,0,0\n", HEADER "1,0,0,0\n2,0,0,0\n9,0,0,0\n", "history.csv:3: not a row"},
      {HEADER "1,0,0,0\n3,0,0,0\n2,0,0,0\n", HEADER "1,0,0,0\n3,0,0,0\n9,0,0,0\n", "history.csv:4: not a row"},
      {HEADER "1,0,0,0\nnan,0,0,0\nx\n2,0,0,nan\n7,0", HEADER "1,0,0,0\n2,0,0,nan\n9,0,0,0\n", "nor are further rows"},
  };
  const double row[4] = {9, 0, 0, 0};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    history *h    = NULL;
    char    *said = NULL;
    size_t   n    = 0;
    set_up();
    put_text(cases[i].before);
    FILE *log = open_memstream(&said, &n);
    log_redirect(log, false);
    assert_ok(history_open(path, 4, names, units, 5, &h));
    log_redirect(NULL, false);
    fclose(log);
    if (!strstr(said, cases[i].says) || !strstr(said, ".damaged")) fail_msg("the log is \"%s\"", said);
    free(said);
    assert_ok(history_row(h, row));
    assert_ok(history_close(&h));
    expect_text(cases[i].after);
    char was[600];
    snprintf(was, sizeof was, "%s.damaged", path);
    assert_int_equal(rename(was, path), 0);
    expect_text(cases[i].before);
    tear_down();
  }
}

static void missing_rows_are_reported(void **state)
{
  (void)state;
  static const struct {
    const char *text;
    int64_t     resume_step, every;
    bool        is_whole;
  } cases[] = {
      {HEADER "1,0,0,0\n2,0,0,0\n", 2, 1, true},
      {HEADER "1,0,0,0\n2,0,0,0\n", 3, 1, false},
      {HEADER "0,0,0,0\n10,0,0,0\n", 19, 10, true},
      {HEADER "0,0,0,0\n10,0,0,0\n", 20, 10, false},
      {NULL, 5, 1, false},
      {NULL, -1, 1, true},
      {HEADER "1,0,0,0\nx\n", 2, 1, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    history *h    = NULL;
    char    *said = NULL;
    size_t   n    = 0;
    set_up();
    if (cases[i].text) put_text(cases[i].text);
    FILE *log = open_memstream(&said, &n);
    log_redirect(log, false);
    assert_ok(history_open(path, 4, names, units, cases[i].resume_step, &h));
    assert_int_equal(history_is_whole(h, cases[i].resume_step, cases[i].every), cases[i].is_whole);
    log_redirect(NULL, false);
    fclose(log);
    assert_int_equal(strstr(said, "are missing") == NULL, cases[i].is_whole);
    free(said);
    assert_ok(history_close(&h));
    tear_down();
  }
}

/* A writer killed at any moment: the resumed table equals that of an undisturbed run. */
static void killed_writers_lose_nothing(void **state)
{
  (void)state;
  set_up();
  for (int i = 0; i < 20; ++i) {
    history    *h    = NULL;
    double     *back = NULL;
    int         n_columns;
    int64_t     n_rows;
    const pid_t child = fork();
    if (child == 0) {
      if (history_open(path, 4, names, units, 10 * i, &h)) _exit(1);
      for (int64_t k = 10 * i + 1;; ++k) {
        const double row[4] = {(double)k, sqrt((double)k), 1.0 / (double)k, 0.1};
        if (history_row(h, row)) _exit(1);
      }
    }
    do { /* until it has ten rows more */
      usleep(500);
      if (access(path, F_OK) || history_read(path, &n_columns, &n_rows, &back)) n_rows = 0, error_clear();
      memory_free(&back);
    } while (n_rows < 10 * i + 10);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_ok(history_open(path, 4, names, units, 10 * i + 10, &h));
    assert_ok(history_close(&h));
    assert_ok(history_read(path, &n_columns, &n_rows, &back));
    assert_int_equal(n_rows, 10 * i + 10);
    for (int64_t k = 0; k < n_rows; ++k) assert_true(back[4 * k] == (double)(k + 1) && back[4 * k + 1] == sqrt((double)(k + 1)));
    memory_free(&back);
  }
  tear_down();
}

TEST_MAIN(cmocka_unit_test(numbers_keep_their_bits), cmocka_unit_test(the_table_reads_well), cmocka_unit_test(resume_removes_later_rows),
          cmocka_unit_test(foreign_tables_are_rejected_and_kept), cmocka_unit_test(cells_may_be_empty),
          cmocka_unit_test(damaged_tables_are_repaired_and_kept), cmocka_unit_test(missing_rows_are_reported),
          cmocka_unit_test(killed_writers_lose_nothing))

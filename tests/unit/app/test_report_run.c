/* The page of a run: values from the files of the run, warnings, and damaged or missing files. */
#include "app/report/report_run.h"
#include "command_fixture.h"
#include "io/plot_sheet.h"

static char *page;

static void write_page(void)
{
  size_t n;
  assert_ok(report_run("r", NULL, true));
  assert_ok(file_read_text("r/report.html", &page, &n));
  assert_non_null(page);
}

static void make_run(const char *options)
{
  char words[400];
  snprintf(words, sizeof words, "run job.yaml --out r --no-picture --quiet %s", options);
  assert_command(SS_EXIT_OK, words);
}

static void tables_have_the_values_of_the_run(void **state)
{
  (void)state;
  if (!plot_sheet_is_possible()) skip();
  make_run("");
  write_page();
  assert_contains(page, "<h1>small</h1>\n<span class=\"status finished\">finished</span>\n<span class=\"soft\">end of time</span>\n"
                        "<p>A ball &amp; a floor</p>");
  assert_contains(page, "<b>0.01 <small>of 0.01 s</small></b><span>simulated time</span>");
  assert_contains(page, "<b>10 <small>of 0.001 s</small></b><span>steps</span>");
  /* speed of free fall: last, minimum at 10 ms, maximum at the start */
  assert_contains(page, "<tr><td>speed</td><td>m/s</td><td class=\"n\">-0.1</td><td class=\"n\">-0.1</td><td class=\"n\">0.01</td>");
  assert_contains(page, "<tr><td>time</td><td>s</td><td class=\"n\">0.001</td><td class=\"n\">0.01</td>");
  assert_contains(page, "<h2>Measures</h2>");
  assert_contains(page, "<figcaption>t = 0.005 s, frame 1</figcaption>");
  assert_contains(page, "DingSchroeder2020"); /* paper of the formulation */
  assert_lacks(page, "TakahashiBatty2021");
  assert_lacks(page, "class=\"warnings\"");
  memory_free(&page);
}

/* 0.25 s, 2 calls, 3e9 byte and no operations: 12 GB/s. */
static void rates_are_work_per_time(void **state)
{
  (void)state;
  if (!plot_sheet_is_possible()) skip();
  make_run("");
  command_write("r/stages.csv", "stage,seconds [s],calls,traffic [byte],operations\nfirst,0.25,2,3e9,0\nsecond,0.75,3,0,3e9\n");
  write_page();
  assert_contains(page,
                  "<tr><td>first</td><td class=\"bar\"><i style=\"width:33.3%\"></i></td><td class=\"n\">25.0 %</td><td class=\"n\">0.250"
                  "</td><td class=\"n\">2</td><td class=\"n\">12.00</td><td class=\"n soft\">-</td></tr>\n");
  assert_contains(page, "<td class=\"n\">0.750</td><td class=\"n\">3</td><td class=\"n soft\">-</td><td class=\"n\">4.00</td></tr>\n");
  assert_contains(page, "<tfoot><tr><td>total</td><td></td><td class=\"n\">100.0 %</td><td class=\"n\">1.000</td>");
  memory_free(&page);
}

static void missing_and_damaged_files_are_warnings(void **state)
{
  (void)state;
  if (!plot_sheet_is_possible()) skip();
  make_run("");
  assert_int_equal(rename("r/result.yaml", "r/old.yaml"), 0);
  command_write("r/failure.txt", "the <solver> diverged");
  assert_int_equal(rename("r/checkpoints/checkpoint_000000010.h5", "r/checkpoints/checkpoint_000000010.h5.damaged"), 0);
  write_page();
  assert_contains(page, "<span class=\"status unknown\">unknown</span>");
  assert_contains(page, "<li>The run failed:<pre>the &lt;solver&gt; diverged</pre></li>");
  assert_contains(page, "<li>result.yaml is missing, so the outcome of the run is unknown</li>");
  assert_contains(page, "<li>checkpoints/checkpoint_000000010.h5.damaged: was damaged and has been renamed</li>");
  memory_free(&page);
  assert_int_equal(remove("r/job.yaml"), 0);
  assert_int_equal(report_run("r", NULL, true), PETSC_ERR_USER_INPUT);
  assert_string_equal(error_message(), "r: not a run directory: job.yaml is missing");
  error_clear();
}

/* Links of a page in another folder are absolute. */
static void pages_elsewhere_have_absolute_links(void **state)
{
  (void)state;
  char   link[TEMPORARY_ROOM + 64];
  size_t n;
  if (!plot_sheet_is_possible()) skip();
  make_run("--steps 1");
  assert_ok(report_run("r", "page.html", true));
  assert_false(command_exists("r/report.html"));
  assert_ok(file_read_text("page.html", &page, &n));
  snprintf(link, sizeof link, "<a href=\"%s/r/history.csv\">history.csv</a>", command_folder);
  assert_contains(page, link);
  memory_free(&page);
}

TEST_MAIN(command_test(tables_have_the_values_of_the_run), command_test(rates_are_work_per_time),
          command_test(missing_and_damaged_files_are_warnings), command_test(pages_elsewhere_have_absolute_links))

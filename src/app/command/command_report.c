/* report, sweep report: pages of a run and of a sweep. */
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "io/plot_sheet.h"
#include "app/command/command.h"
#include "app/command/command_list.h"
#include "app/command/command_report.h"
#include "app/report/report.h"
#include "app/sweep/sweep_folder.h"

bool command_write_report(const char *dir, const char *again, PetscErrorCode (*page)(const char *dir))
{
  if (!plot_sheet_is_possible()) {
    log_info("no report: it wants gnuplot (package gnuplot-nox); `stickslip %s %s` writes it later", again, dir);
    return false;
  }
  if (!page(dir)) return true;
  log_warn("no report: %s", error_message());
  error_clear();
  return false;
}

static const command_option report_options[] = {{"--out", "FILE.html", false, "default: DIR/report.html"}, {NULL, NULL, false, NULL}};

static PetscErrorCode command_report(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char *dir = line->positional[0], *out = command_value(line, "--out");
  (void)code;
  PetscCall(report_run(dir, out, false));
  if (out) log_info("wrote %s", out);
  else log_info("wrote %s/report.html", dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const command command_report_entry = {"report", "DIR", "a web page about a run: plots, stills, times, job, machine",
  "Writes one HTML page that needs neither network nor other files. The diagrams are drawn by gnuplot (package gnuplot-nox).\n"
  "`run` and `resume` write it by themselves at the end, where there is a gnuplot.", 1, 1, report_options, command_report};

/* --- sweep report ----------------------------------------------------------------------------------------------------- */

static const command_option sweep_report_options[] = {{"--out", "FILE.html", false, "default: DIR/report.html"},
                                                      {"--cases", NULL, false, "a page of every case, too"},
                                                      {NULL, NULL, false, NULL}};

static PetscErrorCode report_cases(const char *dir)
{
  sweep_plan    *plan;
  PetscErrorCode code = PETSC_SUCCESS;
  PetscFunctionBegin;
  PetscCall(sweep_folder_read(dir, &plan));
  for (int64_t i = 0; i < plan->n_cases && !code; ++i) {
    char folder[4300], job[4400];
    sweep_folder_case(dir, plan->cases[i].number, sizeof folder, folder);
    snprintf(job, sizeof job, "%s/job.yaml", folder);
    if (access(job, F_OK) == 0) code = report_run(folder, NULL, true);
  }
  sweep_plan_destroy(&plan);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode command_sweep_report(const command_line *line, exit_code *code)
{
  PetscFunctionBegin;
  const char *dir = line->positional[0], *out = command_value(line, "--out");
  (void)code;
  if (command_value(line, "--cases")) PetscCall(report_cases(dir));
  PetscCall(report_sweep(dir, out));
  if (out) log_info("wrote %s", out);
  else log_info("wrote %s/report.html", dir);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const command command_sweep_report_entry = {"sweep report", "DIR", "a web page about a sweep: measures against parameters, all cases",
  "Writes one HTML page that needs neither network nor other files: how many cases are in which state, each measure against each parameter\n"
  "(lines where cases differ in one parameter alone, points for samples, coloured tables for two parameters), times, and a table of the\n"
  "cases with links to them. May be done while the sweep is running. The diagrams are drawn by gnuplot (package gnuplot-nox).", 1, 1,
  sweep_report_options, command_sweep_report};

/* report: the page of a run. */
#include <string.h>
#include "core/log.h"
#include "sim/command/command.h"
#include "sim/command/command_list.h"
#include "sim/report/report.h"

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

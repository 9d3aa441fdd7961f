#include "app/command/command_file.h"
#include <string.h>
#include "app/job/job.h"
#include "app/run/run_result.h"
#include "app/sweep/sweep_keys.h"

const command_file command_files[] = {
  {"job", "the job file of stickslip",
   "A job is a YAML file in SI units. Anchors, aliases, merge keys and `!include FILE` may be used. Unknown keys are errors.", &job_table},
  {"sweep", "the sweep file of stickslip",
   "A sweep file names a job and what varies in it; `stickslip sweep` makes cases of it. Unknown keys are errors.", &sweep_file_table},
  {"result", "what became of a run of stickslip",
   "result.yaml in a run directory is written for programs: when the run starts, at its checkpoints and when it ends, always as a whole.",
   &run_result_table},
  {NULL, NULL, NULL, NULL}};

const command_file *command_file_find(const char *name)
{
  for (const command_file *f = command_files; f->name; ++f)
    if (!strcmp(f->name, name)) return f;
  return NULL;
}

#include "app/run/run_stages.h"
#include <stdlib.h>
#include <string.h>
#include "core/memory.h"
#include "core/text.h"
#include "io/sealed_file.h"

#define HEADER "stage,seconds [s],calls,traffic [byte],operations\n"

void run_stages_add(run_stages *to, const char *name, const timer_record *record)
{
  int i = 0;
  while (i < to->n && strcmp(to->stage[i].name, name) != 0) ++i;
  if (i == RUN_STAGES_MAX) return;
  if (i == to->n) {
    memset(&to->stage[to->n++], 0, sizeof *to->stage);
    snprintf(to->stage[i].name, sizeof to->stage[i].name, "%s", name);
  }
  timer_record *sum = &to->stage[i].record;
  sum->seconds += record->seconds, sum->bytes += record->bytes, sum->flops += record->flops;
  sum->n_calls += record->n_calls;
}

PetscErrorCode run_stages_read(const char *dir, run_stages *out)
{
  char   path[4300];
  char  *text __attribute__((cleanup(memory_free))) = NULL;
  size_t n;
  PetscFunctionBegin;
  out->n = 0;
  snprintf(path, sizeof path, "%s/stages.csv", dir);
  PetscCall(file_read_text(path, &text, &n));
  if (!text || strncmp(text, HEADER, strlen(HEADER)) != 0) PetscFunctionReturn(PETSC_SUCCESS);
  for (const char *row = text + strlen(HEADER); strchr(row, '\n'); row = strchr(row, '\n') + 1) {
    char         name[48];
    timer_record r;
    long long    calls;
    if (sscanf(row, "%47[^,\n],%lf,%lld,%lf,%lf", name, &r.seconds, &calls, &r.bytes, &r.flops) != 5) continue;
    r.n_calls = calls;
    if (r.seconds >= 0 && r.bytes >= 0 && r.flops >= 0) run_stages_add(out, name, &r);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode run_stages_write(const char *dir, const run_stages *past)
{
  char        path[4300];
  text_buffer b   = {0};
  run_stages  all = *past;
  PetscFunctionBegin;
  for (int i = 0; i < timer_n_stages(); ++i) {
    const timer_stage  stage = timer_stage_at(i);
    const timer_record r     = timer_record_of(stage);
    if (r.n_calls > 0 || r.seconds > 0) run_stages_add(&all, timer_name(stage), &r);
  }
  snprintf(path, sizeof path, "%s/stages.csv", dir);
  PetscErrorCode code = text_printf(&b, HEADER);
  for (int i = 0; i < all.n && !code; ++i) {
    const timer_record *r = &all.stage[i].record;
    code = text_printf(&b, "%s,%.6f,%lld,%.17g,%.17g\n", all.stage[i].name, r->seconds, (long long)r->n_calls, r->bytes, r->flops);
  }
  if (!code) code = file_replace_text(path, (size_t)b.n, b.data);
  memory_free(&b.data);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Access to the option values of a parsed command line. */
#include "app/command/command_line.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "core/diagnostics.h"
#include "sim/scene/warning_codes.h"

const command_option command_common_options[] = {
    {"--help", NULL, false, "show this help"},
    {"--version", NULL, false, "print version, source revision, compiler and libraries"},
    {"--verbose", NULL, false, "log more details; show where errors occurred"},
    {"--quiet", NULL, false, "log warnings and errors only"},
    {"--threads", "N", false, "OpenMP threads; default: OMP_NUM_THREADS, the cores of the SLURM task, or all CPUs"},
    {NULL, NULL, false, NULL}};

const char *command_value(const command_line *line, const char *option)
{
  for (int i = line->n_options - 1; i >= 0; --i)
    if (strcmp(line->option[i]->name, option) == 0) return line->value[i] ? line->value[i] : "";
  return NULL;
}

int command_values(const command_line *line, const char *option, const char **out)
{
  int n = 0;
  for (int i = 0; i < line->n_options; ++i)
    if (strcmp(line->option[i]->name, option) == 0) out[n++] = line->value[i];
  return n;
}

/* In the order of warning_code_names. */
#define X(code, place, help) "ignore_warnings[]=" code,
static const char *const ignored[] = {WARNING_CODE_TABLE(X)};
#undef X

int command_overrides(const command_line *line, const char **out)
{
  const char *code[COMMAND_MAX_VALUES];
  const int   n_codes = command_values(line, "--no-warn", code), n_known = (int)(sizeof ignored / sizeof *ignored);
  int         n = command_values(line, "--set", out);
  for (int i = 0; i < n_codes && n < COMMAND_MAX_VALUES; ++i) {
    int k = 0;
    while (k < n_known && strcmp(code[i], warning_code_names[k]) != 0) ++k;
    if (k < n_known) out[n++] = ignored[k];
    if (k < n_known) continue;
    const char *nearest = diagnostics_nearest(code[i], n_known, warning_code_names);
    fprintf(stderr, "stickslip: --no-warn %s: no warning has this code%s%s%s\n", code[i],
            nearest ? "; did you mean \"" : "; see docs/reference/warnings.md", nearest ? nearest : "", nearest ? "\"?" : "");
    return -1;
  }
  return n;
}

bool command_integer(const command_line *line, const char *option, int64_t min, int64_t max, int64_t fallback, int64_t *out)
{
  const char *text = command_value(line, option);
  *out             = fallback;
  if (!text) return true;
  char *end;
  errno             = 0;
  const long long v = strtoll(text, &end, 10);
  if (errno || end == text || *end || v < min || v > max) {
    fprintf(stderr, "stickslip: %s %s: expected a whole number from %lld to %lld\n", option, text, (long long)min, (long long)max);
    return false;
  }
  *out = v;
  return true;
}

const char *command_action(const command *c, const char *name)
{
  const char *space = strchr(c->name, ' ');
  if (!space || (name && (strncmp(c->name, name, (size_t)(space - c->name)) || name[space - c->name]))) return NULL;
  return space + 1;
}

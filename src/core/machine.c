/* Description of the machine, see machine.h, from /etc/os-release, /proc/cpuinfo and /proc/stat. Missing values are empty or 0. */
#include "core/machine.h"
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

/* Value behind `key` and the separator in a file: "model name\t: AMD ...", PRETTY_NAME="Debian ...". */
static void read_value(const char *path, const char *key, char separator, size_t size, char *value)
{
  char  line[512];
  FILE *in = fopen(path, "re");
  *value   = '\0';
  while (in && !*value && fgets(line, sizeof line, in)) {
    char *at = strchr(line, separator);
    if (strncmp(line, key, strlen(key)) != 0 || !at) continue;
    for (++at; *at == ' ' || *at == '"' || *at == '\t';) ++at;
    at[strcspn(at, "\"\n")] = '\0';
    snprintf(value, size, "%s", at);
  }
  if (in) fclose(in);
}

void machine_describe(machine *m)
{
  struct utsname u;
  char           release[128];
  memset(m, 0, sizeof *m);
  read_value("/etc/os-release", "PRETTY_NAME", '=', sizeof release, release);
  if (uname(&u) == 0)
    snprintf(m->system, sizeof m->system, "%.40s %.60s %.20s%s%.100s", u.sysname, u.release, u.machine, *release ? ", " : "", release);
  read_value("/proc/cpuinfo", "model name", ':', sizeof m->processor, m->processor);
  if (!*m->processor) snprintf(m->processor, sizeof m->processor, "unknown");
  m->n_processors   = omp_get_num_procs();
  const long n_page = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGE_SIZE);
  if (n_page > 0 && page > 0) m->memory = (double)n_page * (double)page;
}

int64_t machine_free_processors(void)
{
  char text[64];
  read_value("/proc/stat", "procs_running", ' ', sizeof text, text);
  const long running = strtol(text, NULL, 10), n = sysconf(_SC_NPROCESSORS_ONLN);
  if (running <= 0) return 0;
  return n - running > 0 ? n - running + 1 : 1;
}

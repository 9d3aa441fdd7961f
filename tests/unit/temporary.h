/* Where tests may write: below $TMPDIR, or /tmp. */
#ifndef SS_TESTS_TEMPORARY_H
#define SS_TESTS_TEMPORARY_H
#include <stdio.h>
#include <stdlib.h>

enum { TEMPORARY_ROOM = 256 };
/* A name for mkstemp, mkstemps (with the ending, "" if there is none) or mkdtemp. */
static inline char *temporary_name(char path[TEMPORARY_ROOM], const char *ending)
{
  const char *base = getenv("TMPDIR");
  (void)snprintf(path, TEMPORARY_ROOM, "%s/stickslip-test-XXXXXX%s", base ? base : "/tmp", ending);
  return path;
}
#endif

/* What this program is: its version, the source revision it was built from, and how it was built. */
#ifndef SS_CORE_VERSION_H
#define SS_CORE_VERSION_H
#include <stddef.h>

enum { VERSION_TEXT = 60 }; /* version_text() never takes more, its end included: it stands in the seals of files */

const char *version_number(void);   /* "0.1.0" */
/* "0.1.0 (01c227c)": version and source revision, as checkpoints, summaries and results record them. "01c227c-dirty": files were changed;
 * "unknown": built outside a git checkout. */
const char *version_text(void);
/* How it was built and with what it runs, a line each: compiler and its flags, profile and processor, PETSc, MPI. Cut off at `size`.
 * May be called before MPI and PETSc have been started. */
void version_describe(size_t size, char *text);
#endif

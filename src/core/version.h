/* Version of the program, source revision, compiler and libraries, for --version, reports and the seals of files. */
#ifndef SS_CORE_VERSION_H
#define SS_CORE_VERSION_H
#include <stddef.h>

enum { VERSION_TEXT = 60 }; /* maximum size of version_text() including the final 0; limited by the length of a file's seal */

const char *version_number(void); /* "0.1.0" */
/* Version and source revision, as recorded in checkpoints, summaries and results: "0.1.0 (01c227c)". Revision "01c227c-dirty": files differ from the
 * commit; "unknown": built outside a git checkout. */
const char *version_text(void);
/* Description of the build and the libraries, one per line: compiler and its flags, profile and processor, PETSc, MPI. Truncated at `size`. May be
 * called before MPI and PETSc have been initialised. */
void version_describe(size_t size, char *text);
#endif

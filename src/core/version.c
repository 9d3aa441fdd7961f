/* Version of the program, see version.h. Only this file contains the revision: a commit recompiles no other. The Makefile defines the macros. */
#include "core/version.h"
#include <mpi.h>
#include <petscsys.h>
#include <stdio.h>
#include <string.h>

#ifndef VERSION_NUMBER
#define VERSION_NUMBER "unknown"
#endif
#ifndef VERSION_REVISION
#define VERSION_REVISION "unknown"
#endif
#ifndef VERSION_PROFILE
#define VERSION_PROFILE "unknown"
#endif
#ifndef VERSION_ARCH
#define VERSION_ARCH "unknown"
#endif
#ifndef VERSION_FLAGS
#define VERSION_FLAGS "unknown"
#endif
#ifdef __clang__
#define VERSION_COMPILER "clang " __clang_version__
#else
#define VERSION_COMPILER "gcc " __VERSION__
#endif

const char *version_number(void) { return VERSION_NUMBER; }

static const char *version_revision(void) { return *VERSION_REVISION ? VERSION_REVISION : "unknown"; }

const char *version_text(void)
{
  static char text[VERSION_TEXT];
  if (!*text) (void)snprintf(text, sizeof text, "%.12s (%.40s)", version_number(), version_revision());
  return text;
}

void version_describe(size_t size, char *text)
{
  PetscInt major = 0, minor = 0, patch = 0;
  char     mpi[MPI_MAX_LIBRARY_VERSION_STRING] = "MPI of unknown version";
  int      length;

  (void)PetscGetVersionNumber(&major, &minor, &patch, NULL);
  (void)MPI_Get_library_version(mpi, &length);
  mpi[strcspn(mpi, ",\n")] = '\0'; /* keep name and number, without the addresses behind them */
  (void)snprintf(text, size, "built by %s, profile %s, for processor %s\nflags %s\nPETSc %d.%d.%d (built with %d.%d.%d), %s\n",
                 VERSION_COMPILER, VERSION_PROFILE, VERSION_ARCH, VERSION_FLAGS, (int)major, (int)minor, (int)patch, PETSC_VERSION_MAJOR,
                 PETSC_VERSION_MINOR, PETSC_VERSION_SUBMINOR, mpi);
}

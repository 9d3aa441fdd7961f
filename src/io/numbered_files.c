/* Numbered files, see numbered_files.h. */
#include "io/numbered_files.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "core/memory.h"
#include "io/file.h"

PetscErrorCode numbered_files_path(const numbered_files *f, const char *directory, int64_t number, char **path)
{
  return file_format(path, "%s/%s%s_%0*lld.h5", directory, f->folder, f->name, f->digits, (long long)number);
}

static DIR *open_folder(const numbered_files *f, const char *directory)
{
  char path[8192];
  snprintf(path, sizeof path, "%s/%s", directory, f->folder);
  return opendir(path);
}

/* The number in a file name, -1: another file. The name must be the one that numbered_files_path gives. */
static int64_t number_of(const numbered_files *f, const char *name)
{
  const size_t n = strlen(f->name);
  char        *end, again[128];
  if (strncmp(name, f->name, n) || name[n] != '_') return -1;
  const long long number = strtoll(name + n + 1, &end, 10);
  snprintf(again, sizeof again, "%s_%0*lld.h5", f->name, f->digits, number);
  return number < 0 || strcmp(again, name) ? -1 : number;
}

static int ascending(const void *a, const void *b)
{
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

PetscErrorCode numbered_files_list(const numbered_files *f, const char *directory, int64_t *n, int64_t **numbers)
{
  const struct dirent *entry;
  int64_t              capacity = 0;
  PetscErrorCode       code     = PETSC_SUCCESS;

  PetscFunctionBegin;
  *n = 0, *numbers = NULL;
  DIR *open = open_folder(f, directory);
  PetscCheck(open || errno == ENOENT, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot read the folder %s/%s: %s", directory, f->folder,
             strerror(errno));
  while (open && !code && (entry = readdir(open))) {
    const int64_t number = number_of(f, entry->d_name);
    if (number < 0) continue;
    code = memory_reserve("numbers of files", *n + 1, sizeof **numbers, &capacity, numbers);
    if (!code) (*numbers)[(*n)++] = number;
  }
  if (open) closedir(open);
  if (code) memory_free(numbers);
  PetscCall(code);
  if (*n) qsort(*numbers, (size_t)*n, sizeof **numbers, ascending);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void numbered_files_remove_temporaries(const numbered_files *f, const char *directory)
{
  const struct dirent *entry;
  const size_t         n    = strlen(f->name);
  DIR                 *open = open_folder(f, directory);
  while (open && (entry = readdir(open))) {
    const char  *name   = entry->d_name;
    const size_t length = strlen(name);
    if (*name == '.' && !strncmp(name + 1, f->name, n) && name[n + 1] == '_' && length > 4 && !strcmp(name + length - 4, ".tmp"))
      unlinkat(dirfd(open), name, 0);
  }
  if (open) closedir(open);
}

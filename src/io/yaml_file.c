#include "io/yaml_file.h"
#include "core/memory.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *load_failed(document *doc, int code) { return document_intern(doc, strerror(code)); }

PetscErrorCode yaml_file_load(document *doc, const char *name, size_t limit, yaml_file *file, const char **problem)
{
  const int   flags = O_RDONLY | O_CLOEXEC | (file->parent ? O_NONBLOCK : 0);
  const int   fd = open(name, flags);
  struct stat about;
  size_t      capacity = 65536;

  PetscFunctionBegin;
  *problem    = NULL;
  file->bytes = NULL;
  file->n     = 0;
  if (fd < 0 || fstat(fd, &about)) {
    *problem = load_failed(doc, errno);
  } else if (S_ISDIR(about.st_mode)) {
    *problem = "it is a folder";
  } else if (file->parent && !S_ISREG(about.st_mode)) {
    *problem = "it is not a regular file";
  } else {
    file->device = about.st_dev;
    file->inode  = about.st_ino;
    /* read, not trusted to be as long as it said, until its end or one byte over the limit */
    for (ssize_t got = 1; got > 0 && file->n <= limit;) {
      if (!file->bytes || file->n == capacity) {
        capacity = file->bytes ? 2 * capacity : capacity;
        const PetscErrorCode code = memory_resize("YAML file", (int64_t)capacity, 1, &file->bytes);
        if (code) {
          close(fd);
          memory_free(&file->bytes);
          PetscCall(code);
        }
      }
      got = read(fd, file->bytes + file->n, capacity - file->n);
      if (got > 0) file->n += (size_t)got;
      else if (got < 0 && errno == EINTR) got = 1;
      else if (got < 0) *problem = load_failed(doc, errno);
    }
    if (!*problem && file->n > limit) *problem = "it is too large for a job";
  }
  if (fd >= 0) close(fd);
  if (*problem) memory_free(&file->bytes);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *yaml_file_relative(document *doc, const char *from, const char *target)
{
  const char *slash = strrchr(from, '/');
  const size_t n = slash && target[0] != '/' ? (size_t)(slash - from) + 1 : 0;
  char        *name;
  if (document_alloc(doc, n + strlen(target) + 1, &name)) return NULL;
  memcpy(name, from, n);
  strcpy(name + n, target);
  return name;
}

#define _GNU_SOURCE /* syncfs */
#include "io/flush.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#include "core/log.h"
#include "core/memory.h"
#include "core/timer.h"
#include "io/sealed_file.h"

typedef struct {
  char *path;
  bool  is_vital;
} waiting_file;

static struct {
  double        until; /* timer_now's clock */
  int64_t       n, capacity;
  waiting_file *files;
} state;

void flush_put_off(double seconds) { state.until = timer_now() + seconds; }

bool flush_is_put_off(void)
{
  if (state.until <= 0.0) return false;
  if (timer_now() < state.until) return true;
  if (flush_now(false)) { /* what is written next reports for itself */
    log_warn("%s", error_message());
    error_clear();
  }
  return false;
}

PetscErrorCode flush_later(const char *path, bool is_vital)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < state.n; ++i)
    if (strcmp(state.files[i].path, path) == 0) {
      state.files[i].is_vital |= is_vital;
      PetscFunctionReturn(PETSC_SUCCESS);
    }
  PetscCall(memory_reserve("flush", state.n + 1, sizeof *state.files, &state.capacity, &state.files));
  waiting_file *f = &state.files[state.n];
  *f              = (waiting_file){NULL, is_vital};
  PetscCall(file_format(&f->path, "%s", path));
  ++state.n;
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode flush_path(const char *path)
{
  PetscFunctionBegin;
  const int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0 && errno == ENOENT) PetscFunctionReturn(PETSC_SUCCESS);
  const bool is_done = fd >= 0 && (!fsync(fd) || errno == EINVAL || errno == EROFS);
  const int  error   = errno;
  if (fd >= 0) close(fd);
  PetscCheck(is_done, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot flush %s to the disk: %s%s", path, strerror(error), file_advice(error));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static bool is_same_folder(const char *a, const char *b)
{
  const char *x = strrchr(a, '/'), *y = strrchr(b, '/');
  return (x ? x - a : 0) == (y ? y - b : 0) && strncmp(a, b, x ? (size_t)(x - a) : 0) == 0;
}

/* Files first, then each of their folders once. */
static PetscErrorCode flush_files(bool only_vital)
{
  PetscFunctionBegin;
  for (int64_t i = 0; i < state.n; ++i)
    if (state.files[i].is_vital || !only_vital) PetscCall(flush_path(state.files[i].path));
  for (int64_t i = 0; i < state.n; ++i) {
    bool is_first = state.files[i].is_vital || !only_vital;
    for (int64_t k = 0; k < i && is_first; ++k)
      is_first = !((state.files[k].is_vital || !only_vital) && is_same_folder(state.files[k].path, state.files[i].path));
    if (is_first) PetscCall(file_sync_directory_of(state.files[i].path));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode flush_now(bool only_vital)
{
  PetscFunctionBegin;
  state.until               = 0.0;
  const PetscErrorCode code = flush_files(only_vital);
  for (int64_t i = 0; i < state.n; ++i) memory_free(&state.files[i].path);
  memory_free(&state.files);
  state.n = state.capacity = 0;
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

void flush_file_system(const char *folder)
{
  const int fd = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return;
  (void)!syncfs(fd);
  close(fd);
}

/* Files and folders, see file.h: atomic replacement, flushing, free space. */
#define _GNU_SOURCE /* syncfs */
#include "io/file.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "core/timer.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

static void close_file(const int *fd)
{
  if (*fd >= 0) close(*fd);
}
#define CLOSED_AT_END __attribute__((cleanup(close_file)))
#define FREED_AT_END __attribute__((cleanup(memory_free)))

/* ---- names, folders, space ---- */

PetscErrorCode file_format(char **out, const char *format, ...)
{
  va_list args;

  PetscFunctionBegin;
  *out = NULL;
  va_start(args, format);
  const int n = vsnprintf(NULL, 0, format, args);
  va_end(args);
  PetscCall(memory_alloc("file name", n + 1, 1, out));
  va_start(args, format);
  vsnprintf(*out, (size_t)n + 1, format, args);
  va_end(args);
  PetscFunctionReturn(PETSC_SUCCESS);
}

const char *file_advice(int error)
{
  switch (error) {
  case ENOSPC:
  case EDQUOT: return "; free disk space, or choose another --out";
  case EFBIG: return "; raise the limit of a file's size (ulimit -f)";
  case EROFS:
  case EACCES: return "; make it writable, or choose another --out";
  case EISDIR:
  case EINVAL: return "; move it away, or choose another --out";
  default: return "";
  }
}

PetscErrorCode file_make_directory(const char *path)
{
  FREED_AT_END char *part = NULL;
  struct stat        about;

  PetscFunctionBegin;
  PetscCall(file_format(&part, "%s", path));
  for (char *c = part + 1;; ++c) {
    const char was = *c;
    if (was && was != '/') continue;
    *c = 0;
    PetscCheck(!mkdir(part, 0777) || errno == EEXIST, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot create the folder %s: %s%s", part,
               strerror(errno), file_advice(errno));
    *c = was;
    if (!was) break;
  }
  PetscCheck(!stat(path, &about) && S_ISDIR(about.st_mode), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "%s exists but is not a folder; move it away, or choose another --out", path);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_sync_directory_of(const char *path)
{
  FREED_AT_END char *folder = NULL;

  PetscFunctionBegin;
  PetscCall(file_format(&folder, "%s", path));
  char *slash = strrchr(folder, '/');
  if (slash) slash[slash == folder] = 0;
  CLOSED_AT_END const int fd = open(slash ? folder : ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  /* Some network file systems cannot flush a folder (EINVAL): the rename itself was fine. */
  PetscCheck(fd >= 0 && (!fsync(fd) || errno == EINVAL || errno == EROFS), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "cannot flush the folder of %s: %s", path, strerror(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_check_space(const char *directory, int64_t bytes)
{
  struct statvfs disk;

  PetscFunctionBegin;
  if (statvfs(directory, &disk)) PetscFunctionReturn(PETSC_SUCCESS); /* free space unknown: the write itself reports errors */
  const double room = (double)disk.f_bavail * (double)disk.f_frsize;
  if (room < (double)bytes) {
    char text[64]; /* PETSc's own %g would print "3." */
    snprintf(text, sizeof text, "%.1f MB are needed, %.1f MB are free", 1e-6 * (double)bytes, 1e-6 * room);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "the disk of %s is full: %s; free disk space, or choose another --out", directory, text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_temporary(const char *path, char **temporary)
{
  const char *slash = strrchr(path, '/');
  const int   n     = slash ? (int)(slash - path) + 1 : 0;

  PetscFunctionBegin;
  PetscCall(file_format(temporary, "%.*s.%s.tmp", n, path, path + n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* ---- deferred flushes ---- */

typedef struct {
  char *path;
  bool  is_vital;
} waiting_file;

static struct {
  double        until; /* timer_now's clock */
  int64_t       n, capacity;
  waiting_file *files;
} state;

void flush_defer(double seconds) { state.until = timer_now() + seconds; }

bool flush_is_deferred(void)
{
  if (state.until <= 0.0) return false;
  if (timer_now() < state.until) return true;
  if (flush_now(false)) { /* the next write reports its own errors */
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
  const char *why;
  const int   fd = regular_file_open(path, O_RDONLY | O_NOFOLLOW, &why);
  if (fd < 0 && errno == ENOENT) PetscFunctionReturn(PETSC_SUCCESS);
  const bool is_done = fd >= 0 && (!fsync(fd) || errno == EINVAL || errno == EROFS);
  const int  error   = errno;
  if (fd >= 0) close(fd);
  PetscCheck(is_done, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot flush %s to the disk: %s%s", path, fd < 0 ? why : strerror(error),
             file_advice(error));
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

/* ---- writing and reading whole files ---- */

PetscErrorCode file_put_in_place(const char *temporary, const char *path, bool waits, bool is_vital)
{
  PetscFunctionBegin;
  if (rename(temporary, path)) {
    const int error = errno;
    unlink(temporary);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot replace %s by its new version: %s%s", path, strerror(error), file_advice(error));
  }
  PetscCall(waits ? flush_later(path, is_vital) : file_sync_directory_of(path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_publish(const char *temporary, const char *path)
{
  PetscFunctionBegin;
  const char             *why;
  const bool              waits = flush_is_deferred();
  CLOSED_AT_END const int fd    = regular_file_open(temporary, O_RDWR | O_NOFOLLOW, &why);
  if (fd < 0 || (!waits && fsync(fd))) {
    const int error = errno;
    unlink(temporary);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot flush %s to the disk: %s%s", temporary, fd < 0 ? why : strerror(error),
            file_advice(error));
  }
  PetscCall(file_put_in_place(temporary, path, waits, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_replace_text(const char *path, size_t n_bytes, const char *text)
{
  FREED_AT_END char *temporary = NULL;
  const char        *why;

  PetscFunctionBegin;
  PetscCall(file_temporary(path, &temporary));
  CLOSED_AT_END const int fd = regular_file_create(temporary, &why);
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, why, file_advice(errno));
  bool is_written = true;
  for (size_t done = 0; done < n_bytes && is_written;) {
    const ssize_t n = write(fd, text + done, n_bytes - done);
    if (n > 0) done += (size_t)n;
    is_written = n > 0 || errno == EINTR;
  }
  const bool waits = flush_is_deferred();
  if (!is_written || (!waits && fsync(fd)) || rename(temporary, path)) {
    const int error = errno;
    unlink(temporary);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, strerror(error), file_advice(error));
  }
  PetscCall(waits ? flush_later(path, false) : file_sync_directory_of(path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_replace_with(const char *path, text_buffer *b)
{
  PetscFunctionBegin;
  PetscErrorCode code = b->code;
  if (!code) code = file_replace_text(path, (size_t)b->n, b->data);
  text_clear(b);
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_read_text(const char *path, char **text, size_t *n)
{
  const char *why;
  FILE       *in = regular_file_stream(path, "r", &why);

  PetscFunctionBegin;
  *text = NULL, *n = 0;
  if (!in && errno == ENOENT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(in, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot open %s: %s", path, why);
  PetscErrorCode code = PETSC_SUCCESS;
  bool           good = !fseeko(in, 0, SEEK_END);
  const int64_t  size = good ? (int64_t)ftello(in) : -1;
  good                = good && size >= 0 && !fseeko(in, 0, SEEK_SET);
  if (good) code = memory_alloc("file", size + 1, 1, text);
  if (good && !code) good = fread(*text, 1, (size_t)size, in) == (size_t)size;
  fclose(in);
  if (code || !good) memory_free(text);
  PetscCall(code);
  PetscCheck(good, PETSC_COMM_SELF, PETSC_ERR_FILE_READ, "cannot read %s", path);
  *n = (size_t)size;
  PetscFunctionReturn(PETSC_SUCCESS);
}

#include "io/sealed_file.h"
#include "core/memory.h"
#include "core/version.h"
#include "io/checksum.h"
#include "io/flush.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

enum { PIECE = 1 << 20 };

static void close_file(const int *fd)
{
  if (*fd >= 0) close(*fd);
}
#define CLOSED_AT_END __attribute__((cleanup(close_file)))
#define FREED_AT_END  __attribute__((cleanup(memory_free)))

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
  case EDQUOT: return "; make room, or set another --out";
  case EFBIG: return "; raise the limit of a file's size (ulimit -f)";
  case EROFS:
  case EACCES: return "; make it writable, or set another --out";
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
    PetscCheck(!mkdir(part, 0777) || errno == EEXIST, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
               "cannot make the folder %s: %s%s", part, strerror(errno), file_advice(errno));
    *c = was;
    if (!was) break;
  }
  PetscCheck(!stat(path, &about) && S_ISDIR(about.st_mode), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "%s is in the way: it is not a folder", path);
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
  if (statvfs(directory, &disk)) PetscFunctionReturn(PETSC_SUCCESS); /* not known: let the write itself tell */
  const double room = (double)disk.f_bavail * (double)disk.f_frsize;
  if (room < (double)bytes) {
    char text[64]; /* PETSc's own %g would print "3." */
    snprintf(text, sizeof text, "%.1f MB are needed, %.1f MB are free", 1e-6 * (double)bytes, 1e-6 * room);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "the disk of %s is full: %s; make room, or set another --out", directory,
            text);
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sealed_file_temporary(const char *path, char **temporary)
{
  const char *slash = strrchr(path, '/');
  const int   n     = slash ? (int)(slash - path) + 1 : 0;

  PetscFunctionBegin;
  PetscCall(file_format(temporary, "%.*s.%s.tmp", n, path, path + n));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* The whole seal; fixed for given numbers, so that comparing 512 bytes checks every byte of it. */
static void seal_text(char seal[SEAL_BYTES], const char *kind, int format, const char *program, long long bytes,
                      const char *sum)
{
  memset(seal, 0, SEAL_BYTES);
  snprintf(seal, SEAL_BYTES, "stickslip %s\nformat %d\nprogram %.60s\nbytes %lld\nchecksum %s\n", kind, format, program, bytes,
           sum);
}

static bool read_all(int fd, void *buffer, size_t n, off_t offset)
{
  for (size_t done = 0; done < n;) {
    const ssize_t got = pread(fd, (char *)buffer + done, n - done, offset + (off_t)done);
    if (got < 0 && errno == EINTR) continue;
    if (got == 0) errno = EIO; /* it became shorter under us */
    if (got <= 0) return false;
    done += (size_t)got;
  }
  return true;
}

/* Checksum of the seal's text (with an empty checksum line) and of all bytes behind it. False with errno. */
static bool sum_file(int fd, const char seal[SEAL_BYTES], off_t bytes, char *piece, char text[CHECKSUM_TEXT])
{
  checksum c;
  uint64_t sum[CHECKSUM_WORDS];

  checksum_begin(&c);
  checksum_add(&c, seal, SEAL_BYTES);
  for (off_t at = SEAL_BYTES; at < bytes;) {
    const size_t n = bytes - at < PIECE ? (size_t)(bytes - at) : PIECE;
    if (!read_all(fd, piece, n, at)) return false;
    checksum_add(&c, piece, n);
    at += (off_t)n;
  }
  checksum_end(&c, sum);
  checksum_text(sum, text);
  return true;
}

static PetscErrorCode seal_and_flush(const char *path, const char *kind, int format, bool flushes)
{
  char               seal[SEAL_BYTES], sum[CHECKSUM_TEXT];
  struct stat        about;
  FREED_AT_END char *piece = NULL;

  PetscFunctionBegin;
  CLOSED_AT_END const int fd = open(path, O_RDWR | O_CLOEXEC);
  PetscCheck(fd >= 0 && !fstat(fd, &about), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot reopen %s: %s", path,
             strerror(errno));
  PetscCall(memory_alloc("seal", about.st_size < PIECE ? about.st_size : PIECE, 1, &piece));
  seal_text(seal, kind, format, version_text(), about.st_size, "");
  PetscCheck(sum_file(fd, seal, about.st_size, piece, sum), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot read back %s: %s",
             path, strerror(errno));
  seal_text(seal, kind, format, version_text(), about.st_size, sum);
  PetscCheck(pwrite(fd, seal, SEAL_BYTES, 0) == SEAL_BYTES && !(flushes && fsync(fd)), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "cannot flush %s to the disk: %s%s", path, strerror(errno), file_advice(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

static PetscErrorCode put_in_place(const char *temporary, const char *path, bool waits, bool is_vital)
{
  PetscFunctionBegin;
  if (rename(temporary, path)) {
    const int error = errno;
    unlink(temporary);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot put %s in place: %s%s", path, strerror(error), file_advice(error));
  }
  PetscCall(waits ? flush_later(path, is_vital) : file_sync_directory_of(path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sealed_file_publish(const char *temporary, const char *path, const char *kind, int format)
{
  PetscFunctionBegin;
  const bool           waits = flush_is_put_off();
  const PetscErrorCode code  = seal_and_flush(temporary, kind, format, !waits);
  if (code) unlink(temporary);
  PetscCall(code);
  PetscCall(put_in_place(temporary, path, waits, strcmp(kind, "checkpoint") == 0));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_publish(const char *temporary, const char *path)
{
  PetscFunctionBegin;
  const bool              waits = flush_is_put_off();
  CLOSED_AT_END const int fd    = open(temporary, O_RDWR | O_CLOEXEC);
  if (fd < 0 || (!waits && fsync(fd))) {
    const int error = errno;
    unlink(temporary);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot flush %s to the disk: %s%s", temporary, strerror(error), file_advice(error));
  }
  PetscCall(put_in_place(temporary, path, waits, false));
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* A disk that fails to give a file back and a file that is not there have damaged it; other reasons are not the file's. */
static sealed_state state_of(int error)
{
  return error == EIO || error == ENOENT || error == ELOOP || error == ENXIO ? SEALED_DAMAGED : SEALED_OUT_OF_REACH;
}

/* An open regular file with room for a seal, or why not. */
static int open_for_check(const char *path, struct stat *about, sealed_state *state, char why[SEALED_WHY])
{
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* a pipe in its place must not hold us up */

  *state = SEALED_DAMAGED;
  if (fd < 0 || fstat(fd, about)) {
    *state = state_of(errno);
    snprintf(why, SEALED_WHY, "cannot be opened: %s", strerror(errno));
  } else if (!S_ISREG(about->st_mode)) {
    snprintf(why, SEALED_WHY, "is %s, not a file", S_ISDIR(about->st_mode) ? "a folder" : "something special");
  } else if (about->st_size == 0) {
    snprintf(why, SEALED_WHY, "is empty");
  } else if (about->st_size < SEAL_BYTES) {
    snprintf(why, SEALED_WHY, "was cut off: only %lld bytes are left, not even its header", (long long)about->st_size);
  } else {
    return fd;
  }
  if (fd >= 0) close(fd);
  return -1;
}

sealed_state sealed_file_state(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY])
{
  char      seal[SEAL_BYTES + 1] = {0}, again[SEAL_BYTES], is_kind[32], program[64], sum[CHECKSUM_TEXT], found[CHECKSUM_TEXT];
  int       format = 0;
  long long bytes  = 0;
  struct stat             about;
  sealed_state            state;
  CLOSED_AT_END const int fd = open_for_check(path, &about, &state, why);

  if (fd < 0) return state;
  if (!read_all(fd, seal, SEAL_BYTES, 0)) {
    state = state_of(errno);
    snprintf(why, SEALED_WHY, "cannot be read: %s", strerror(errno));
    return state;
  }
  if (sscanf(seal, "stickslip %31[a-z]", is_kind) != 1) {
    snprintf(why, SEALED_WHY, "is not a stickslip %s (its first bytes are something else), or its start is damaged", kind);
    return SEALED_DAMAGED;
  }
  if (strcmp(is_kind, kind)) {
    snprintf(why, SEALED_WHY, "is a stickslip %s, not a %s", is_kind, kind);
    return SEALED_DAMAGED;
  }
  if (sscanf(seal, "stickslip %*31[a-z]\nformat %9d\nprogram %60[^\n]\nbytes %18lld\nchecksum %64[0-9a-f]\n", &format, program,
             &bytes, sum) != 4) {
    snprintf(why, SEALED_WHY, "is damaged: its header cannot be read");
    return SEALED_DAMAGED;
  }
  seal_text(again, kind, format, program, bytes, sum);
  if (memcmp(seal, again, SEAL_BYTES)) {
    snprintf(why, SEALED_WHY, "is damaged: bytes of its header have changed");
    return SEALED_DAMAGED;
  }
  if (bytes != (long long)about.st_size) {
    snprintf(why, SEALED_WHY, "%s: it has %lld bytes, but had %lld when it was written",
             about.st_size < bytes ? "was cut off" : "is damaged", (long long)about.st_size, bytes);
    return SEALED_DAMAGED;
  }
  if (!is_quick) {
    char *piece = NULL;
    if (memory_alloc("seal", about.st_size < PIECE ? about.st_size : PIECE, 1, &piece)) {
      snprintf(why, SEALED_WHY, "cannot be checked: no memory");
      return SEALED_OUT_OF_REACH;
    }
    seal_text(again, kind, format, program, bytes, "");
    const bool is_read = sum_file(fd, again, about.st_size, piece, found);
    memory_free(&piece);
    if (!is_read) {
      state = state_of(errno);
      snprintf(why, SEALED_WHY, "cannot be read: %s", strerror(errno));
      return state;
    }
    if (strcmp(sum, found)) {
      snprintf(why, SEALED_WHY, "is damaged: its bytes have changed since it was written (checksum %.16s..., now %.16s...)",
               sum, found);
      return SEALED_DAMAGED;
    }
  }
  if (format < 1 || format > newest_format) {
    snprintf(why, SEALED_WHY, "has format %d (written by stickslip %s), this program reads up to format %d: use a newer stickslip",
             format, program, newest_format);
    return SEALED_NEWER;
  }
  return SEALED_GOOD;
}

bool sealed_file_check(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY])
{
  return sealed_file_state(path, kind, newest_format, is_quick, why) == SEALED_GOOD;
}

PetscErrorCode file_replace_text(const char *path, size_t n_bytes, const char *text)
{
  FREED_AT_END char *temporary = NULL;

  PetscFunctionBegin;
  PetscCall(sealed_file_temporary(path, &temporary));
  CLOSED_AT_END const int fd = open(temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", temporary, strerror(errno),
             file_advice(errno));
  bool is_written = true;
  for (size_t done = 0; done < n_bytes && is_written;) {
    const ssize_t n = write(fd, text + done, n_bytes - done);
    if (n > 0) done += (size_t)n;
    is_written = n > 0 || errno == EINTR;
  }
  const bool waits = flush_is_put_off();
  if (!is_written || (!waits && fsync(fd)) || rename(temporary, path)) {
    const int error = errno;
    unlink(temporary);
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, strerror(error), file_advice(error));
  }
  PetscCall(waits ? flush_later(path, false) : file_sync_directory_of(path));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode file_read_text(const char *path, char **text, size_t *n)
{
  FILE *in = fopen(path, "rbe");

  PetscFunctionBegin;
  *text = NULL, *n = 0;
  if (!in && errno == ENOENT) PetscFunctionReturn(PETSC_SUCCESS);
  PetscCheck(in, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot open %s: %s", path, strerror(errno));
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

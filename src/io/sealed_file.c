/* Sealed files, see sealed_file.h. */
#include "io/sealed_file.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "core/version.h"
#include "io/checksum.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PIECE = 1 << 20 };

static void close_file(const int *fd)
{
  if (*fd >= 0) close(*fd);
}
#define CLOSED_AT_END __attribute__((cleanup(close_file)))
#define FREED_AT_END __attribute__((cleanup(memory_free)))

/* The whole seal; fixed for given numbers, so that comparing 512 bytes checks every byte of it. */
static void seal_text(char seal[SEAL_BYTES], const char *kind, int format, const char *program, long long bytes, const char *sum)
{
  memset(seal, 0, SEAL_BYTES);
  snprintf(seal, SEAL_BYTES, "stickslip %s\nformat %d\nprogram %.60s\nbytes %lld\nchecksum %s\n", kind, format, program, bytes, sum);
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
  const char        *why;
  FREED_AT_END char *piece = NULL;

  PetscFunctionBegin;
  CLOSED_AT_END const int fd = regular_file_open(path, O_RDWR | O_NOFOLLOW, &why);
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot reopen %s: %s", path, why);
  PetscCheck(!fstat(fd, &about), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot reopen %s: %s", path, strerror(errno));
  PetscCall(memory_alloc("seal", about.st_size < PIECE ? about.st_size : PIECE, 1, &piece));
  seal_text(seal, kind, format, version_text(), about.st_size, "");
  PetscCheck(sum_file(fd, seal, about.st_size, piece, sum), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot read back %s: %s", path,
             strerror(errno));
  seal_text(seal, kind, format, version_text(), about.st_size, sum);
  PetscCheck(pwrite(fd, seal, SEAL_BYTES, 0) == SEAL_BYTES && !(flushes && fsync(fd)), PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE,
             "cannot flush %s to the disk: %s%s", path, strerror(errno), file_advice(errno));
  PetscFunctionReturn(PETSC_SUCCESS);
}

PetscErrorCode sealed_file_publish(const char *temporary, const char *path, const char *kind, int format)
{
  PetscFunctionBegin;
  const bool           waits = flush_is_deferred();
  const PetscErrorCode code  = seal_and_flush(temporary, kind, format, !waits);
  if (code) unlink(temporary);
  PetscCall(code);
  PetscCall(file_put_in_place(temporary, path, waits, strcmp(kind, "checkpoint") == 0));
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
  char                    seal[SEAL_BYTES + 1] = {0}, again[SEAL_BYTES], is_kind[32], program[64], sum[CHECKSUM_TEXT], found[CHECKSUM_TEXT];
  int                     format               = 0;
  long long               bytes                = 0;
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
  if (sscanf(seal, "stickslip %*31[a-z]\nformat %9d\nprogram %60[^\n]\nbytes %18lld\nchecksum %64[0-9a-f]\n", &format, program, &bytes,
             sum) != 4) {
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
      snprintf(why, SEALED_WHY, "is damaged: its bytes have changed since it was written (checksum %.16s..., now %.16s...)", sum, found);
      return SEALED_DAMAGED;
    }
  }
  if (format < 1 || format > newest_format) {
    snprintf(why, SEALED_WHY, "has format %d (written by stickslip %s), this program reads up to format %d: use a newer stickslip", format,
             program, newest_format);
    return SEALED_NEWER;
  }
  return SEALED_GOOD;
}

bool sealed_file_check(const char *path, const char *kind, int newest_format, bool is_quick, char why[SEALED_WHY])
{
  return sealed_file_state(path, kind, newest_format, is_quick, why) == SEALED_GOOD;
}

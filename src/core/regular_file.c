/* Opening of regular files, see regular_file.h. The kind is tested before opening, because opening a device may have side effects, and
 * again on the descriptor, because the name may have changed in between. */
#include "core/regular_file.h"
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* NULL for a regular file. Sets errno. */
static const char *reason_of(mode_t mode)
{
  if (S_ISREG(mode)) return NULL;
  errno = S_ISDIR(mode) ? EISDIR : S_ISLNK(mode) ? ELOOP : EINVAL;
  if (S_ISDIR(mode)) return "it is a folder, not a file";
  if (S_ISFIFO(mode)) return "it is a pipe, not a regular file";
  if (S_ISLNK(mode)) return "it is a symbolic link; an output file must not be a link: remove it";
  if (S_ISSOCK(mode)) return "it is a socket, not a regular file";
  return "it is a device, not a regular file";
}

int regular_file_open(const char *path, int flags, const char **why)
{
  struct stat about;
  const int   failed = flags & O_NOFOLLOW ? lstat(path, &about) : stat(path, &about);

  *why = failed ? NULL : reason_of(about.st_mode);
  if (*why) return -1;
  const int fd = open(path, flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0666);
  if (fd < 0) {
    *why = errno == ELOOP && flags & O_NOFOLLOW ? reason_of(S_IFLNK) : strerror(errno);
    return -1;
  }
  *why = fstat(fd, &about) ? strerror(errno) : reason_of(about.st_mode);
  if (!*why) return fd;
  const int error = errno;
  close(fd);
  errno = error;
  return -1;
}

FILE *regular_file_stream(const char *path, const char *mode, const char **why)
{
  const int flags = *mode == 'a'   ? O_WRONLY | O_CREAT | O_APPEND | O_NOFOLLOW
                    : *mode == 'w' ? O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW
                                   : O_RDONLY,
            fd    = regular_file_open(path, flags, why);
  if (fd < 0) return NULL;
  FILE *stream = fdopen(fd, mode);
  if (stream) return stream;
  *why = strerror(errno);
  close(fd);
  return NULL;
}

int regular_file_create(const char *path, const char **why)
{
  struct stat about;
  if (!lstat(path, &about) && !S_ISDIR(about.st_mode)) (void)unlink(path);
  return regular_file_open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW, why);
}

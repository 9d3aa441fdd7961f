/* Lock of a run directory, see run_lock.h. */
#include "io/run_lock.h"
#include "core/memory.h"
#include "core/regular_file.h"
#include "io/sealed_file.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

struct run_lock {
  char *path;
  int   fd;
};

typedef struct {
  long pid;
  char host[256], since[32];
} holder;

/* Read the owner from an open lock file; false if it is not readable. */
static bool read_open_holder(int fd, holder *who)
{
  char          text[512];
  const ssize_t n = pread(fd, text, sizeof text - 1, 0);

  memset(who, 0, sizeof *who);
  text[n > 0 ? n : 0] = 0;
  return sscanf(text, "pid %ld\nhost %255s\nsince %31[^\n]", &who->pid, who->host, who->since) == 3;
}

/* Read the owner from the lock file; false if it is not readable. */
static bool read_holder(const char *path, holder *who)
{
  const char *why;
  const int   fd = regular_file_open(path, O_RDONLY | O_NOFOLLOW, &why);

  memset(who, 0, sizeof *who);
  if (fd < 0) return false;
  const bool is_read = read_open_holder(fd, who);
  close(fd);
  return is_read;
}

static void own_host(char host[256])
{
  if (gethostname(host, 256)) strcpy(host, "unknown");
  host[255] = 0;
}

static bool write_holder(int fd)
{
  char         host[256], since[32], text[512];
  const time_t now = time(NULL);
  struct tm    t;

  own_host(host);
  strftime(since, sizeof since, "%Y-%m-%d %H:%M:%S", localtime_r(&now, &t));
  const int n = snprintf(text, sizeof text, "pid %ld\nhost %s\nsince %s\n", (long)getpid(), host, since);
  return !ftruncate(fd, 0) && pwrite(fd, text, (size_t)n, 0) == n;
}

/* True if the lock belongs to a process of this host that has ended. Used where the file system has no kernel locks. */
static bool is_dead(const holder *who)
{
  char host[256];

  own_host(host);
  return !strcmp(host, who->host) && who->pid > 0 && kill((pid_t)who->pid, 0) && errno == ESRCH;
}

/* Report the process that owns the lock. `is_name`: there is no kernel lock, only the file, whose owner may have ended on another host. */
static PetscErrorCode report_owner(const char *directory, const char *path, bool is_name)
{
  holder who;

  PetscFunctionBegin;
  if (read_holder(path, &who))
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
            "%s is being written by process %ld on %s since %s; wait for it, stop it, or choose another --out%s%s", directory, who.pid,
            who.host, who.since, is_name ? "; if this process has ended, remove " : "", is_name ? path : "");
  SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
          "%s is being written by another process (lock %s); wait for it, stop it, or choose another --out", directory, path);
}

/* One attempt. *fd < 0 without an error: another process replaced the file in the meantime; call again. */
static PetscErrorCode try_flock(const char *directory, const char *path, int *fd)
{
  struct stat opened, named;
  const char *why;

  PetscFunctionBegin;
  *fd = regular_file_open(path, O_RDWR | O_CREAT | O_NOFOLLOW, &why);
  PetscCheck(*fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, why, file_advice(errno));
  if (flock(*fd, LOCK_EX | LOCK_NB)) {
    const int error = errno;
    close(*fd);
    *fd = -1;
    if (error == EWOULDBLOCK) PetscCall(report_owner(directory, path, false));
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN, "cannot lock %s: %s; choose --out on a file system with working file locks", path,
            strerror(error));
  }
  /* The previous owner may have removed the file between `open` and `flock`. The lock is then on a removed file and has no effect. */
  if (fstat(*fd, &opened) || stat(path, &named) || opened.st_ino != named.st_ino || opened.st_dev != named.st_dev) {
    close(*fd);
    *fd = -1;
  } else if (!write_holder(*fd)) {
    const int error = errno;
    unlink(path);
    close(*fd);
    *fd = -1;
    SETERRQ(PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, strerror(error), file_advice(error));
  }
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Remove the lock file if its owner has ended. The caller holds `path`.takeover, so no other process removes a lock at the same time.
 * The file may be replaced between reading and removal: its owner may release it and end, and another process may lock. The file at
 * `path` is therefore compared with the file that was read, after the owner has been found to have ended. From then on nobody else can
 * replace it. While the file is open, the file system does not use its inode number again. */
static void remove_dead_lock(const char *path)
{
  struct stat opened, named;
  holder      who;
  const char *why;
  const int   fd = regular_file_open(path, O_RDONLY | O_NOFOLLOW, &why);

  if (fd < 0) return; /* released */
  if ((!read_open_holder(fd, &who) || is_dead(&who)) && !fstat(fd, &opened) && !stat(path, &named) && opened.st_ino == named.st_ino &&
      opened.st_dev == named.st_dev)
    unlink(path);
  close(fd);
}

/* One attempt without kernel locks: the name of the file is the lock. `own` (a file of this process with its name in it) is linked to it,
 * which fails if the lock exists. So a lock is never visible half written. *is_ours false without an error: call again. */
static PetscErrorCode try_link(const char *directory, const char *path, const char *own, const char *takeover, bool *is_ours)
{
  holder who;

  PetscFunctionBegin;
  *is_ours = !link(own, path);
  if (*is_ours || errno != EEXIST) {
    PetscCheck(*is_ours, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", path, strerror(errno), file_advice(errno));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  if (read_holder(path, &who) && !is_dead(&who)) PetscCall(report_owner(directory, path, true));
  if (!link(own, takeover)) {
    remove_dead_lock(path);
    unlink(takeover);
  } else
    PetscCheck(!read_holder(takeover, &who) || !is_dead(&who), PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
               "%s is locked by process %ld, which has ended while it removed an earlier lock; remove %s", directory, who.pid, takeover);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Take the lock, or fail with the name of the owner; `own` is a file of this process in the same folder. */
static PetscErrorCode take_lock(const char *directory, const char *path, const char *own, int *fd)
{
  char       *takeover __attribute__((cleanup(memory_free))) = NULL;
  bool        is_ours                                        = false;
  const char *why;

  PetscFunctionBegin;
  *fd = regular_file_create(own, &why);
  PetscCheck(*fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_WRITE, "cannot write %s: %s%s", own, why, file_advice(errno));
  if (!flock(*fd, LOCK_EX | LOCK_NB)) { /* there are locks */
    close(*fd);
    *fd = -1;
    for (int i = 0; i < 100 && *fd < 0; ++i) PetscCall(try_flock(directory, path, fd));
    PetscFunctionReturn(PETSC_SUCCESS);
  }
  PetscErrorCode code = file_format(&takeover, "%s.takeover", path);
  if (!code && !write_holder(*fd))
    code = PetscError(PETSC_COMM_SELF, __LINE__, __func__, __FILE__, PETSC_ERR_FILE_WRITE, PETSC_ERROR_INITIAL, "cannot write %s: %s%s",
                      own, strerror(errno), file_advice(errno));
  for (int i = 0; i < 100 && !code && !is_ours; ++i) code = try_link(directory, path, own, takeover, &is_ours);
  if (!is_ours) {
    close(*fd);
    *fd = -1;
  }
  PetscCall(code);
  PetscFunctionReturn(PETSC_SUCCESS);
}

/* Remove files of processes of this host that were killed while taking the lock. Called by its owner. */
static void remove_leftovers(const char *directory, const char *host)
{
  char                 prefix[300];
  const struct dirent *entry;
  DIR                 *folder = opendir(directory);

  snprintf(prefix, sizeof prefix, "run.lock.%s.", host);
  while (folder && (entry = readdir(folder))) {
    char      *end;
    const long pid = strncmp(entry->d_name, prefix, strlen(prefix)) ? 0 : strtol(entry->d_name + strlen(prefix), &end, 10);
    if (pid > 0 && !*end && kill((pid_t)pid, 0) && errno == ESRCH) unlinkat(dirfd(folder), entry->d_name, 0);
  }
  if (folder) closedir(folder);
}

PetscErrorCode run_lock_acquire(const char *directory, run_lock **out)
{
  char *path __attribute__((cleanup(memory_free))) = NULL, *own __attribute__((cleanup(memory_free))) = NULL;
  char  host[256];
  int   fd = -1;

  PetscFunctionBegin;
  *out = NULL;
  own_host(host);
  PetscCall(file_make_directory(directory));
  PetscCall(file_format(&path, "%s/run.lock", directory));
  PetscCall(file_format(&own, "%s.%s.%ld", path, host, (long)getpid()));
  const PetscErrorCode taken = take_lock(directory, path, own, &fd);
  unlink(own);
  PetscCall(taken);
  PetscCheck(fd >= 0, PETSC_COMM_SELF, PETSC_ERR_FILE_OPEN,
             "cannot lock %s: other processes lock it repeatedly; try again, or, if there are none, remove %s.takeover", directory, path);
  remove_leftovers(directory, host);
  const PetscErrorCode code = memory_alloc("run lock", 1, sizeof **out, out);
  if (code) close(fd);
  PetscCall(code);
  (*out)->path = path;
  (*out)->fd   = fd;
  path         = NULL;
  PetscFunctionReturn(PETSC_SUCCESS);
}

void run_lock_release(run_lock **lock)
{
  if (!*lock) return;
  unlink((*lock)->path); /* while it is still ours */
  close((*lock)->fd);
  MEMORY_FREE(&(*lock)->path, lock);
}

bool run_lock_is_held(const char *directory)
{
  char   path[4400];
  holder who;

  (void)snprintf(path, sizeof path, "%.4095s/run.lock", directory);
  if (access(path, F_OK)) return false;
  if (!read_holder(path, &who)) return access(path, F_OK) == 0; /* its holder is just writing its name */
  if (is_dead(&who)) return false;
  /* A process of that number lives, here or on another host: is the lock its? */
  const char *why;
  const int   fd = regular_file_open(path, O_RDONLY | O_NOFOLLOW, &why);
  if (fd < 0) return errno != ENOENT;
  const bool is_free = !flock(fd, LOCK_SH | LOCK_NB), has_locks = is_free || errno == EWOULDBLOCK;
  close(fd);
  return !is_free || !has_locks;
}

/* Makes the n-th change of a file below a folder fail, or kills the process there: loaded with LD_PRELOAD.

   inject_arm(folder, n, mode): mode 0 counts alone, 1 kills, otherwise the errno to fail with; a negative errno fails from
   the n-th call on. inject_disarm() returns how many calls were seen. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[PATH_MAX];
static long wanted, seen;
static int mode, armed;

void inject_arm(const char *where, long n, int how) {
  strncpy(folder, where, sizeof folder - 1);
  wanted = n, mode = how, seen = 0, armed = 1;
}

long inject_disarm(void) { armed = 0; return seen; }

static int below(const char *path) { return path && strstr(path, folder) == path; }

/* 1 where this call has to fail */
static int fails(const char *path) {
  if (!armed || !below(path)) return 0;
  long now = __sync_add_and_fetch(&seen, 1);
  if (mode == 0 || (mode < 0 ? now < wanted : now != wanted)) return 0;
  if (mode == 1) kill(getpid(), SIGKILL);
  errno = abs(mode);
  return 1;
}

static int fails_fd(int fd) {
  if (!armed) return 0;
  char link[64], path[PATH_MAX];
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = 0;
  return fails(path);
}

static int fails_at(int at, const char *path) {
  if (!armed) return 0;
  if (path[0] == '/') return fails(path);
  return at == AT_FDCWD ? 0 : fails_fd(at);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRAP_FD(name, args, call) \
  ssize_t name args { return fails_fd(fd) ? -1 : NEXT(name) call; }

WRAP_FD(write, (int fd, const void *data, size_t size), (fd, data, size))
WRAP_FD(pwrite, (int fd, const void *data, size_t size, off_t at), (fd, data, size, at))
WRAP_FD(pwrite64, (int fd, const void *data, size_t size, off64_t at), (fd, data, size, at))
int fsync(int fd) { return fails_fd(fd) ? -1 : NEXT(fsync)(fd); }
int fdatasync(int fd) { return fails_fd(fd) ? -1 : NEXT(fdatasync)(fd); }
int ftruncate(int fd, off_t size) { return fails_fd(fd) ? -1 : NEXT(ftruncate)(fd, size); }
int ftruncate64(int fd, off64_t size) { return fails_fd(fd) ? -1 : NEXT(ftruncate64)(fd, size); }
size_t fwrite(const void *data, size_t size, size_t count, FILE *file) {
  return fails_fd(fileno(file)) ? 0 : NEXT(fwrite)(data, size, count, file);
}
int rename(const char *old, const char *new) { return fails(new) ? -1 : NEXT(rename)(old, new); }
int link(const char *old, const char *new) { return fails(new) ? -1 : NEXT(link)(old, new); }
int unlink(const char *path) { return fails(path) ? -1 : NEXT(unlink)(path); }
int rmdir(const char *path) { return fails(path) ? -1 : NEXT(rmdir)(path); }
int unlinkat(int at, const char *path, int flags) {
  return fails_at(at, path) ? -1 : NEXT(unlinkat)(at, path, flags);
}
int mkdir(const char *path, mode_t how) { return fails(path) ? -1 : NEXT(mkdir)(path, how); }
int open(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t how = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails(path)) return -1;
  return NEXT(open)(path, flags, how);
}
int open64(const char *path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  mode_t how = flags & (O_CREAT | O_TMPFILE) ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (fails(path)) return -1;
  return NEXT(open64)(path, flags, how);
}

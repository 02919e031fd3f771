// Ends the app by SIGKILL before its KILL_ATth change of a file below KILL_BELOW, whichever thread makes it: preloaded by kills.py.
// With KILL_LOG, each change is written there.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static atomic_int count;

static void changes(const char *what, const char *path) {
  static const char *below;
  static int limit = -1, file = -1;
  if (limit < 0) {
    below = getenv("KILL_BELOW");
    // What the app starts has its variables, too.
    if (!below || !strstr(program_invocation_name, "healing-app")) below = "";
    const char *log = getenv("KILL_LOG"), *at = getenv("KILL_AT");
    if (log && *below) file = (int)syscall(SYS_openat, AT_FDCWD, log, O_CREAT | O_WRONLY | O_APPEND | O_CLOEXEC, 0600);
    limit = at ? atoi(at) : 0;
  }
  if (!*below || !path || strncmp(path, below, strlen(below)) != 0) return;
  int number = atomic_fetch_add(&count, 1) + 1;
  if (file >= 0) {
    char line[600];
    int length = snprintf(line, sizeof line, "%d %s %.500s\n", number, what, path + strlen(below));
    syscall(SYS_write, file, line, length);
  }
  if (number == limit) {
    syscall(SYS_kill, getpid(), SIGKILL);
    for (;;) pause();
  }
}

static void changes_file(const char *what, int file) {
  char link[40], path[4096];
  snprintf(link, sizeof link, "/proc/self/fd/%d", file);
  ssize_t length = readlink(link, path, sizeof path - 1);
  if (length <= 0) return;
  path[length] = 0;
  changes(what, path);
}

#define NEXT(name) \
  static __typeof__(name) *next; \
  if (!next) next = dlsym(RTLD_NEXT, #name);

#define OPENS(name) \
  int name(const char *path, int flags, ...) { \
    NEXT(name) va_list words; \
    va_start(words, flags); \
    mode_t mode = va_arg(words, mode_t); \
    va_end(words); \
    if (flags & (O_CREAT | O_TRUNC)) changes("open", path); \
    return next(path, flags, mode); \
  }
OPENS(open)
OPENS(open64)

ssize_t write(int file, const void *bytes, size_t size) { NEXT(write) if (file > 2) changes_file("write", file); return next(file, bytes, size); }
ssize_t pwrite(int file, const void *bytes, size_t size, off_t at) { NEXT(pwrite) changes_file("pwrite", file); return next(file, bytes, size, at); }
ssize_t pwrite64(int file, const void *bytes, size_t size, off64_t at) { NEXT(pwrite64) changes_file("pwrite", file); return next(file, bytes, size, at); }
int ftruncate(int file, off_t size) { NEXT(ftruncate) changes_file("ftruncate", file); return next(file, size); }
int ftruncate64(int file, off64_t size) { NEXT(ftruncate64) changes_file("ftruncate", file); return next(file, size); }
int fsync(int file) { NEXT(fsync) changes_file("fsync", file); return next(file); }
int rename(const char *from, const char *to) { NEXT(rename) changes("rename", to); return next(from, to); }
int link(const char *from, const char *to) { NEXT(link) changes("link", to); return next(from, to); }
int unlink(const char *path) { NEXT(unlink) changes("unlink", path); return next(path); }
int mkdir(const char *path, mode_t mode) { NEXT(mkdir) changes("mkdir", path); return next(path, mode); }
int rmdir(const char *path) { NEXT(rmdir) changes("rmdir", path); return next(path); }
int utimensat(int folder, const char *path, const struct timespec times[2], int flags) { NEXT(utimensat) changes("utimensat", path); return next(folder, path, times, flags); }

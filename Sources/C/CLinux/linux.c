#define _GNU_SOURCE 1
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <linux/fs.h>
#include <linux/sockios.h>
#include <sys/resource.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

int xcache_errno(void) { return errno; }
char **xcache_environment(void) { return environ; }
int xcache_accept4(int fd, struct sockaddr *address, unsigned *length, int flags) {
  return accept4(fd, address, length, flags);
}
// The libc wrappers are thread cancellation points, which we don't use and which cost a tenth of a poll's time outside the
// kernel.
ssize_t xcache_recv(int socket, void *bytes, size_t count) {
  return syscall(SYS_recvfrom, socket, bytes, count, 0, NULL, NULL);
}
ssize_t xcache_send(int socket, const void *bytes, size_t count, int flags) {
  return syscall(SYS_sendto, socket, bytes, count, flags, NULL, 0);
}
int xcache_epoll_wait(int epoll, struct epoll_event *events, int capacity, int milliseconds) {
  return syscall(SYS_epoll_pwait, epoll, events, capacity, milliseconds, NULL, 0);
}
int xcache_syncfs(int fd) { return syncfs(fd); }
int xcache_lower_priority(int steps) {
  int nice = getpriority(PRIO_PROCESS, (id_t)getpid()) + steps;
  return getpriority(PRIO_PROCESS, 0) < nice ? setpriority(PRIO_PROCESS, 0, nice) : 0;
}
int xcache_start_writing(int fd) { return sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE); }
int xcache_openat(int folder, const char *path, int flags, unsigned mode) {
  return openat(folder, path, flags, mode);
}
int xcache_open_direct(const char *path) { return open(path, O_RDONLY | O_DIRECT | O_NONBLOCK | O_CLOEXEC); }
int xcache_lower_disk_priority(void) {
  // <linux/ioprio.h>: IOPRIO_WHO_PROCESS 1, IOPRIO_CLASS_BE 2. The idle class could starve forever.
  return syscall(SYS_ioprio_set, 1, 0, 2 << 13 | 7);
}
ssize_t xcache_copy_file_range(int from, int to, size_t count) {
  return copy_file_range(from, NULL, to, NULL, count, 0);
}
int xcache_reflink(int from, int to) { return ioctl(to, FICLONE, from); }
int xcache_outq(int socket) {
  int bytes = 0;
  return ioctl(socket, SIOCOUTQ, &bytes) == 0 ? bytes : -1;
}
void xcache_trim_memory(void) { malloc_trim(0); }
size_t xcache_heap_in_use(void) {
  struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}
void xcache_keep_heap_small(void) {
  // "Setting any of M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD, or M_MMAP_MAX disables" the dynamic threshold, which grows up
  // to 32 MB with each larger block that is freed (mallopt(3)).
  mallopt(M_MMAP_THRESHOLD, 128 << 10);
  mallopt(M_TRIM_THRESHOLD, 1 << 20);
  // Whoever allocates or frees takes its arena's lock. With two arenas, loops and urgent acts waited for threads of low priority that
  // held one and had no processor; with one for each of 30 threads, much more stays free and unreturned.
  mallopt(M_ARENA_MAX, 8);
}
int xcache_spawn_closes_from(void *actions, int first) {
  return posix_spawn_file_actions_addclosefrom_np(actions, first);
}
void xcache_name_thread(const char *name) { pthread_setname_np(pthread_self(), name); }

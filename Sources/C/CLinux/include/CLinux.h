// Linux calls that Swift's Glibc module doesn't expose, and ThreadSanitizer's acquire and release annotations.
// _GNU_SOURCE is defined only in the .c file: defined here, it would make this module's system types differ from Glibc's.
#pragma once
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/sendfile.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>
#include <sys/types.h>

struct sockaddr;

int xcache_errno(void);
/// The process's own `environ`, which Swift's concurrency checking rejects.
char **xcache_environment(void);
int xcache_accept4(int fd, struct sockaddr *address, unsigned *length, int flags);
ssize_t xcache_recv(int socket, void *bytes, size_t count);
ssize_t xcache_send(int socket, const void *bytes, size_t count, int flags);
int xcache_epoll_wait(int epoll, struct epoll_event *events, int capacity, int milliseconds);
int xcache_syncfs(int fd);
int xcache_start_writing(int fd);
int xcache_openat(int folder, const char *path, int flags, unsigned mode);
/// Opens a file for reading, bypassing the page cache (O_DIRECT).
int xcache_open_direct(const char *path);
/// Makes the calling thread's nice value at least this much higher than that of the process's first thread.
int xcache_lower_priority(int steps);
/// Gives the calling thread's disk requests the lowest best-effort priority (ioprio_set(2)).
int xcache_lower_disk_priority(void);
ssize_t xcache_copy_file_range(int from, int to, size_t count);
/// Makes `to` a clone that shares the blocks of `from` (FICLONE), where the file system can.
int xcache_reflink(int from, int to);
/// The number of bytes in a socket's send queue that the peer hasn't acknowledged (SIOCOUTQ); -1 on error.
int xcache_outq(int socket);
/// Returns all whole free pages of the heap to the system.
void xcache_trim_memory(void);
/// The number of allocated bytes, in the heap and in mapped blocks.
size_t xcache_heap_in_use(void);
/// Makes blocks of 128 KB and more mapped, so that they return to the system when they are freed, and makes threads share eight
/// arenas. Must be called before there are threads.
void xcache_keep_heap_small(void);
/// Makes a spawned program close its descriptors from `first` on; takes a `posix_spawn_file_actions_t`.
int xcache_spawn_closes_from(void *actions, int first);
/// Names the calling thread; 15 bytes at most.
void xcache_name_thread(const char *name);

/// Tells ThreadSanitizer about Swift's futex-based Mutex, which it doesn't see; does nothing in other builds.
void xcache_tsan_acquire(const void *address);
void xcache_tsan_release(const void *address);

// Linux calls that Swift's Glibc module does not show, and ThreadSanitizer's hand-over marks.
// _GNU_SOURCE stays in the .c file: with it here, this module's system types would differ from Glibc's.
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
/// The process's own `environ`, which Swift's concurrency checks can't let through.
char **xcache_environment(void);
int xcache_accept4(int fd, struct sockaddr *address, unsigned *length, int flags);
ssize_t xcache_recv(int socket, void *bytes, size_t count);
ssize_t xcache_send(int socket, const void *bytes, size_t count, int flags);
int xcache_epoll_wait(int epoll, struct epoll_event *events, int capacity, int milliseconds);
int xcache_syncfs(int fd);
int xcache_start_writing(int fd);
int xcache_openat(int folder, const char *path, int flags, unsigned mode);
/// Opens a file for reading past the page cache (O_DIRECT).
int xcache_open_direct(const char *path);
/// Lets the calling thread's disk requests come after others': best effort, its lowest level (ioprio_set(2)).
int xcache_lower_disk_priority(void);
ssize_t xcache_copy_file_range(int from, int to, size_t count);
/// Shares the bytes of `from` with `to` (FICLONE) where the file system can.
int xcache_reflink(int from, int to);
/// Bytes in a socket's send queue that the other side hasn't acknowledged (SIOCOUTQ); -1 on error.
int xcache_outq(int socket);
/// Gives back all free memory of the heap that makes whole pages.
void xcache_trim_memory(void);
/// Bytes of the heap, and of blocks outside of it, that are in use.
size_t xcache_heap_in_use(void);
/// Has blocks of 128 KB and more lie outside of the heap, so that they go back once they are freed, and threads share two
/// heaps. To be called before there are threads.
void xcache_keep_heap_small(void);
/// Has a program that is spawned close its descriptors from `first` on; takes a `posix_spawn_file_actions_t`.
int xcache_spawn_closes_from(void *actions, int first);
/// Names the calling thread, in 15 bytes at most.
void xcache_name_thread(const char *name);

/// Told to ThreadSanitizer, which doesn't see Swift's futex-based Mutex; empty in every other build.
void xcache_tsan_acquire(const void *address);
void xcache_tsan_release(const void *address);

#include "CLinux.h"

#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define XCACHE_TSAN 1
#endif
#endif

#ifdef XCACHE_TSAN
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void xcache_tsan_acquire(const void *address) { __tsan_acquire((void *)address); }
void xcache_tsan_release(const void *address) { __tsan_release((void *)address); }
#else
void xcache_tsan_acquire(const void *address) { (void)address; }
void xcache_tsan_release(const void *address) { (void)address; }
#endif

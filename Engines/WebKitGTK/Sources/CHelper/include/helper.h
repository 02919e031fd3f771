// What Swift can't do itself: start a program that ends with this one.
#pragma once
#include <sys/types.h>

// Starts argv[0], found through PATH, without this program's input and output; `kept` stays open in it. It is killed when
// the calling thread ends, so call this on the main thread. Returns -1 if no process can be created; if the program doesn't
// exist, the process exits with 127.
pid_t xcache_start_bound(char *const argv[], int kept);

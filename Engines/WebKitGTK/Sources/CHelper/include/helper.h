// What Swift can't do itself: start a program that ends with this one.
#pragma once
#include <sys/types.h>

// Starts argv[0], found by PATH, without this program's input and output; `kept` stays open in it. It is killed when the thread
// that called ends, which has to be the main one then. -1 where there is no process to be had; a program that isn't there ends with 127.
pid_t xcache_start_bound(char *const argv[], int kept);

// The only interface to zstd: what Swift can't import (variadics, macros) becomes a static inline function here.
#pragma once
#include <zstd.h>
#include <zstd_errors.h>

// Swift would import the enum of error codes as a type of its own.
static inline int xcache_zstd_window_too_large(size_t result) {
  return ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;
}

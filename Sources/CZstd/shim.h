// The one door to zstd: what Swift can't import as it stands (variadics, macros) becomes a static inline here.
#pragma once
#include <zstd.h>
#include <zstd_errors.h>

// The codes are an enum of constants that Swift would have as a type of its own.
static inline int xcache_zstd_window_too_large(size_t result) {
  return ZSTD_getErrorCode(result) == ZSTD_error_frameParameter_windowTooLarge;
}

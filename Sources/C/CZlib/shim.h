// The only interface to zlib: what Swift can't import (variadics, macros) becomes a static inline function here.
#pragma once
#include <zlib.h>

static inline int xcache_deflate_init(z_stream *s, int level, int window_bits) {
  return deflateInit2(s, level, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY);
}
// Raw deflate, for zips, with zlib's default memory level (8), which compresses web builds better than 9.
static inline int xcache_raw_deflate_init(z_stream *s, int level) {
  return deflateInit2(s, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}
static inline int xcache_inflate_init(z_stream *s, int window_bits) { return inflateInit2(s, window_bits); }

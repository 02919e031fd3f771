// The one door to z: what Swift can't import as it stands (variadics, macros) becomes a static inline here.
#pragma once
#include <zlib.h>

static inline int xcache_deflate_init(z_stream *s, int level, int window_bits) {
  return deflateInit2(s, level, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY);
}
static inline int xcache_inflate_init(z_stream *s, int window_bits) { return inflateInit2(s, window_bits); }

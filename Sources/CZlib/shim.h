// The one door to z: what Swift can't import as it stands (variadics, macros) becomes a static inline here.
#pragma once
#include <zlib.h>

static inline int xcache_deflate_init(z_stream *s, int level, int window_bits) {
  return deflateInit2(s, level, Z_DEFLATED, window_bits, 9, Z_DEFAULT_STRATEGY);
}
// Deflate without a header, for zips: with zlib's own memory level (8), which packs web builds smaller than 9 does.
static inline int xcache_raw_deflate_init(z_stream *s, int level) {
  return deflateInit2(s, level, Z_DEFLATED, -MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
}
static inline int xcache_inflate_init(z_stream *s, int window_bits) { return inflateInit2(s, window_bits); }

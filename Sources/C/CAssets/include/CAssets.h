// Files embedded in the binary: the database migrations, the pages and the web runtime from public/.
#pragma once
#include <stddef.h>

typedef struct {
  const char *name;
  const unsigned char *bytes;
  size_t size;
} xcache_asset;

// Functions, because Swift doesn't import arrays of unknown size.
size_t xcache_migration_count(void);
xcache_asset xcache_migration(size_t index);
size_t xcache_page_count(void);
xcache_asset xcache_page(size_t index);
// The web runtime: the service worker, its pack decoder, its check of signatures, the worker that removes it, the pages' script, and
// what pages load after something failed.
xcache_asset xcache_web_worker(void);
xcache_asset xcache_web_packs(void);
xcache_asset xcache_web_trust(void);
xcache_asset xcache_web_remover(void);
xcache_asset xcache_web_page(void);
xcache_asset xcache_web_samples(void);

// Files that travel inside the binary: the migrations of the database and the pages under public/.
#pragma once
#include <stddef.h>

typedef struct {
  const char *name;
  const unsigned char *bytes;
  size_t size;
} xcache_asset;

extern const xcache_asset xcache_migrations[];
extern const size_t xcache_migration_count;

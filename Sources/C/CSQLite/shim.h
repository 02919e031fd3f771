// The only interface to sqlite3: what Swift can't import (variadics, macros) becomes a static inline function here.
#pragma once
// "To use the session extension, SQLite must be compiled" with both of these, as Debian's is (sqlite.org/sessionintro.html §2); here they
// only make sqlite3.h declare it.
#define SQLITE_ENABLE_SESSION 1
#define SQLITE_ENABLE_PREUPDATE_HOOK 1
#include <sqlite3.h>

static inline sqlite3_destructor_type xcache_sqlite_transient(void) { return SQLITE_TRANSIENT; }

/// Sets one of sqlite3_db_config's boolean options.
static inline int xcache_sqlite_config(sqlite3 *database, int option, int on) {
  return sqlite3_db_config(database, option, on, (int *)0);
}

/// Has SQLite count no memory, for which all connections would share one lock; must be called before anything else of SQLite.
static inline int xcache_sqlite_count_no_memory(void) { return sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0); }

#include "CAssets.h"

// In the order in which they are applied. StoreTests checks that no file of Migrations/ is missing here.
static const unsigned char m0001[] = {
#embed "../../Migrations/0001_origin.sql"
};

const xcache_asset xcache_migrations[] = {
    {"0001_origin.sql", m0001, sizeof m0001},
};
const size_t xcache_migration_count = sizeof xcache_migrations / sizeof xcache_migrations[0];

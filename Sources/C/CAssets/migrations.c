#include "CAssets.h"

// The migrations in order. StoreTests checks that every file of Migrations/ is here.
static const unsigned char m0001[] = {
#embed "../../../Migrations/0001_origin.sql"
};

static const unsigned char m0002[] = {
#embed "../../../Migrations/0002_prefetch.sql"
};

static const unsigned char m0003[] = {
#embed "../../../Migrations/0003_operations.sql"
};

static const unsigned char m0004[] = {
#embed "../../../Migrations/0004_mirrors.sql"
};

static const unsigned char m0005[] = {
#embed "../../../Migrations/0005_keeping.sql"
};

static const unsigned char m0006[] = {
#embed "../../../Migrations/0006_idempotency.sql"
};

static const unsigned char m0007[] = {
#embed "../../../Migrations/0007_registrations.sql"
};

static const unsigned char m0008[] = {
#embed "../../../Migrations/0008_document_numbers.sql"
};

static const unsigned char m0009[] = {
#embed "../../../Migrations/0009_scrub.sql"
};

static const unsigned char m0010[] = {
#embed "../../../Migrations/0010_headers.sql"
};

static const unsigned char m0011[] = {
#embed "../../../Migrations/0011_devices.sql"
};

static const unsigned char m0012[] = {
#embed "../../../Migrations/0012_series.sql"
};

static const unsigned char m0013[] = {
#embed "../../../Migrations/0013_bounds.sql"
};

static const unsigned char m0014[] = {
#embed "../../../Migrations/0014_purge.sql"
};

static const unsigned char m0015[] = {
#embed "../../../Migrations/0015_pushes.sql"
};

static const unsigned char m0016[] = {
#embed "../../../Migrations/0016_collection_wait.sql"
};

static const unsigned char m0017[] = {
#embed "../../../Migrations/0017_purged_urls.sql"
};

static const unsigned char m0018[] = {
#embed "../../../Migrations/0018_purge_work.sql"
};

static const unsigned char m0019[] = {
#embed "../../../Migrations/0019_webhooks.sql"
};

static const unsigned char m0020[] = {
#embed "../../../Migrations/0020_webhook_queues.sql"
};

static const unsigned char m0021[] = {
#embed "../../../Migrations/0021_rollouts.sql"
};

static const unsigned char m0022[] = {
#embed "../../../Migrations/0022_planned_freezes.sql"
};

static const unsigned char m0023[] = {
#embed "../../../Migrations/0023_schedules.sql"
};

static const unsigned char m0024[] = {
#embed "../../../Migrations/0024_candidate_prefetch.sql"
};

static const unsigned char m0025[] = {
#embed "../../../Migrations/0025_trust.sql"
};
static const unsigned char m0026[] = {
#embed "../../../Migrations/0026_signatures.sql"
};

static const unsigned char m0027[] = {
#embed "../../../Migrations/0027_evidence.sql"
};

static const unsigned char m0028[] = {
#embed "../../../Migrations/0028_network_cap.sql"
};

static const unsigned char m0029[] = {
#embed "../../../Migrations/0029_fallback.sql"
};

static const unsigned char m0030[] = {
#embed "../../../Migrations/0030_lazy.sql"
};

static const unsigned char m0031[] = {
#embed "../../../Migrations/0031_poll_batches.sql"
};

static const unsigned char m0032[] = {
#embed "../../../Migrations/0032_teams.sql"
};
static const unsigned char m0033[] = {
#embed "../../../Migrations/0033_samples.sql"
};
static const unsigned char m0034[] = {
#embed "../../../Migrations/0034_source_maps.sql"
};
static const unsigned char m0035[] = {
#embed "../../../Migrations/0035_pictures.sql"
};
static const unsigned char m0036[] = {
#embed "../../../Migrations/0036_problems.sql"
};
static const unsigned char m0037[] = {
#embed "../../../Migrations/0037_own_knowledge.sql"
};

static const xcache_asset migrations[] = {
    {"0001_origin.sql", m0001, sizeof m0001},
    {"0002_prefetch.sql", m0002, sizeof m0002},
    {"0003_operations.sql", m0003, sizeof m0003},
    {"0004_mirrors.sql", m0004, sizeof m0004},
    {"0005_keeping.sql", m0005, sizeof m0005},
    {"0006_idempotency.sql", m0006, sizeof m0006},
    {"0007_registrations.sql", m0007, sizeof m0007},
    {"0008_document_numbers.sql", m0008, sizeof m0008},
    {"0009_scrub.sql", m0009, sizeof m0009},
    {"0010_headers.sql", m0010, sizeof m0010},
    {"0011_devices.sql", m0011, sizeof m0011},
    {"0012_series.sql", m0012, sizeof m0012},
    {"0013_bounds.sql", m0013, sizeof m0013},
    {"0014_purge.sql", m0014, sizeof m0014},
    {"0015_pushes.sql", m0015, sizeof m0015},
    {"0016_collection_wait.sql", m0016, sizeof m0016},
    {"0017_purged_urls.sql", m0017, sizeof m0017},
    {"0018_purge_work.sql", m0018, sizeof m0018},
    {"0019_webhooks.sql", m0019, sizeof m0019},
    {"0020_webhook_queues.sql", m0020, sizeof m0020},
    {"0021_rollouts.sql", m0021, sizeof m0021},
    {"0022_planned_freezes.sql", m0022, sizeof m0022},
    {"0023_schedules.sql", m0023, sizeof m0023},
    {"0024_candidate_prefetch.sql", m0024, sizeof m0024},
    {"0025_trust.sql", m0025, sizeof m0025},
    {"0026_signatures.sql", m0026, sizeof m0026},
    {"0027_evidence.sql", m0027, sizeof m0027},
    {"0028_network_cap.sql", m0028, sizeof m0028},
    {"0029_fallback.sql", m0029, sizeof m0029},
    {"0030_lazy.sql", m0030, sizeof m0030},
    {"0031_poll_batches.sql", m0031, sizeof m0031},
    {"0032_teams.sql", m0032, sizeof m0032},
    {"0033_samples.sql", m0033, sizeof m0033},
    {"0034_source_maps.sql", m0034, sizeof m0034},
    {"0035_pictures.sql", m0035, sizeof m0035},
    {"0036_problems.sql", m0036, sizeof m0036},
    {"0037_own_knowledge.sql", m0037, sizeof m0037},
};

size_t xcache_migration_count(void) { return sizeof migrations / sizeof migrations[0]; }
xcache_asset xcache_migration(size_t index) { return migrations[index]; }

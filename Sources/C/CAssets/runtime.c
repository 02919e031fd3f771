#include "CAssets.h"

// The web runtime that `xcache web` writes, built by public/runtime/build.sh. `make test-runtime` checks that it was built from
// the current sources.
static const unsigned char worker[] = {
#embed "../../../public/runtime/dist/xcache-sw.js"
};

static const unsigned char packs[] = {
#embed "../../../public/runtime/dist/xcache-sw-packs.js"
};

static const unsigned char trust[] = {
#embed "../../../public/runtime/dist/xcache-sw-trust.js"
};

static const unsigned char remover[] = {
#embed "../../../public/runtime/dist/xcache-remove.js"
};

static const unsigned char page[] = {
#embed "../../../public/runtime/dist/xcache.js"
};

static const unsigned char samples[] = {
#embed "../../../public/runtime/dist/xcache-samples.js"
};

xcache_asset xcache_web_worker(void) { return (xcache_asset){"xcache-sw.js", worker, sizeof worker}; }
xcache_asset xcache_web_packs(void) { return (xcache_asset){"xcache-sw-packs.js", packs, sizeof packs}; }
xcache_asset xcache_web_trust(void) { return (xcache_asset){"xcache-sw-trust.js", trust, sizeof trust}; }
xcache_asset xcache_web_remover(void) { return (xcache_asset){"xcache-sw.js", remover, sizeof remover}; }
xcache_asset xcache_web_page(void) { return (xcache_asset){"xcache.js", page, sizeof page}; }
xcache_asset xcache_web_samples(void) { return (xcache_asset){"xcache-samples.js", samples, sizeof samples}; }

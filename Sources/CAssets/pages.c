#include "CAssets.h"

// The pages that an origin shows to people. OriginTests checks that no file of public/console/ is missing here.
static const unsigned char index_html[] = {
#embed "../../public/console/index.html"
};

static const unsigned char console_css[] = {
#embed "../../public/console/console.css"
};

static const unsigned char console_js[] = {
#embed "../../public/console/console.js"
};

static const xcache_asset pages[] = {
    {"console/index.html", index_html, sizeof index_html},
    {"console/console.css", console_css, sizeof console_css},
    {"console/console.js", console_js, sizeof console_js},
};

size_t xcache_page_count(void) { return sizeof pages / sizeof pages[0]; }
xcache_asset xcache_page(size_t index) { return pages[index]; }

#include "CAssets.h"

// The pages that an origin serves to people. OriginTests checks that every file of public/console/ is here.
static const unsigned char root_html[] = {
#embed "../../../public/index.html"
};

static const unsigned char index_html[] = {
#embed "../../../public/console/index.html"
};

static const unsigned char console_css[] = {
#embed "../../../public/console/console.css"
};

static const unsigned char view_css[] = {
#embed "../../../public/console/view.css"
};

static const unsigned char pages_css[] = {
#embed "../../../public/console/pages.css"
};

static const unsigned char main_js[] = {
#embed "../../../public/console/main.js"
};

static const unsigned char api_js[] = {
#embed "../../../public/console/api.js"
};

static const unsigned char dom_js[] = {
#embed "../../../public/console/dom.js"
};

static const unsigned char overview_js[] = {
#embed "../../../public/console/overview.js"
};

static const unsigned char chart_js[] = {
#embed "../../../public/console/chart.js"
};

static const unsigned char channel_js[] = {
#embed "../../../public/console/channel.js"
};

static const unsigned char rollout_js[] = {
#embed "../../../public/console/rollout.js"
};

static const unsigned char planned_js[] = {
#embed "../../../public/console/planned.js"
};

static const unsigned char approvals_js[] = {
#embed "../../../public/console/approvals.js"
};

static const unsigned char waiting_js[] = {
#embed "../../../public/console/waiting.js"
};

static const unsigned char you_js[] = {
#embed "../../../public/console/you.js"
};

static const unsigned char signin_js[] = {
#embed "../../../public/console/signin.js"
};

static const unsigned char trust_js[] = {
#embed "../../../public/console/trust.js"
};

static const unsigned char health_js[] = {
#embed "../../../public/console/health.js"
};

static const unsigned char command_js[] = {
#embed "../../../public/console/command.js"
};

static const unsigned char keys_js[] = {
#embed "../../../public/console/keys.js"
};

static const unsigned char parts_js[] = {
#embed "../../../public/console/parts.js"
};

static const unsigned char release_js[] = {
#embed "../../../public/console/release.js"
};

static const unsigned char content_js[] = {
#embed "../../../public/console/content.js"
};

static const unsigned char acts_js[] = {
#embed "../../../public/console/acts.js"
};

static const unsigned char dialog_js[] = {
#embed "../../../public/console/dialog.js"
};

static const unsigned char audit_js[] = {
#embed "../../../public/console/audit.js"
};

static const unsigned char operations_js[] = {
#embed "../../../public/console/operations.js"
};

static const unsigned char search_js[] = {
#embed "../../../public/console/search.js"
};

static const unsigned char timeline_js[] = {
#embed "../../../public/console/timeline.js"
};

static const unsigned char failures_js[] = {
#embed "../../../public/console/failures.js"
};

static const unsigned char preview_js[] = {
#embed "../../../public/console/preview.js"
};

static const unsigned char pretty_js[] = {
#embed "../../../public/console/pretty.js"
};

static const xcache_asset pages[] = {
    {"index.html", root_html, sizeof root_html},
    {"console/index.html", index_html, sizeof index_html},
    {"console/console.css", console_css, sizeof console_css},
    {"console/view.css", view_css, sizeof view_css},
    {"console/pages.css", pages_css, sizeof pages_css},
    {"console/main.js", main_js, sizeof main_js},
    {"console/api.js", api_js, sizeof api_js},
    {"console/dom.js", dom_js, sizeof dom_js},
    {"console/overview.js", overview_js, sizeof overview_js},
    {"console/chart.js", chart_js, sizeof chart_js},
    {"console/channel.js", channel_js, sizeof channel_js},
    {"console/rollout.js", rollout_js, sizeof rollout_js},
    {"console/planned.js", planned_js, sizeof planned_js},
    {"console/approvals.js", approvals_js, sizeof approvals_js},
    {"console/waiting.js", waiting_js, sizeof waiting_js},
    {"console/you.js", you_js, sizeof you_js},
    {"console/signin.js", signin_js, sizeof signin_js},
    {"console/trust.js", trust_js, sizeof trust_js},
    {"console/health.js", health_js, sizeof health_js},
    {"console/command.js", command_js, sizeof command_js},
    {"console/keys.js", keys_js, sizeof keys_js},
    {"console/parts.js", parts_js, sizeof parts_js},
    {"console/release.js", release_js, sizeof release_js},
    {"console/content.js", content_js, sizeof content_js},
    {"console/acts.js", acts_js, sizeof acts_js},
    {"console/dialog.js", dialog_js, sizeof dialog_js},
    {"console/audit.js", audit_js, sizeof audit_js},
    {"console/operations.js", operations_js, sizeof operations_js},
    {"console/failures.js", failures_js, sizeof failures_js},
    {"console/preview.js", preview_js, sizeof preview_js},
    {"console/pretty.js", pretty_js, sizeof pretty_js},
    {"console/search.js", search_js, sizeof search_js},
    {"console/timeline.js", timeline_js, sizeof timeline_js},
};

size_t xcache_page_count(void) { return sizeof pages / sizeof pages[0]; }
xcache_asset xcache_page(size_t index) { return pages[index]; }

// The only way into WebKitGTK: what Swift can't import directly (variadics, casts, macros) becomes a static inline here.
#pragma once
#include <string.h>
#include <webkit2/webkit2.h>

static inline WebKitWebsiteDataManager *xcache_data_manager(const char *data, const char *cache) {
  return webkit_website_data_manager_new("base-data-directory", data, "base-cache-directory", cache, NULL);
}

// Sinks the floating reference: the caller owns one.
static inline WebKitWebView *xcache_web_view(WebKitWebContext *context, WebKitUserContentManager *manager) {
  gpointer view = g_object_new(WEBKIT_TYPE_WEB_VIEW, "web-context", context, "user-content-manager", manager, NULL);
  return WEBKIT_WEB_VIEW(g_object_ref_sink(view));
}

// An invisible window: without a window a view neither paints nor runs requestAnimationFrame.
static inline GtkWindow *xcache_hidden_window(WebKitWebView *view, int width, int height) {
  GtkWidget *window = gtk_offscreen_window_new();
  gtk_window_set_default_size(GTK_WINDOW(window), width, height);
  gtk_container_add(GTK_CONTAINER(window), GTK_WIDGET(view));
  gtk_widget_show_all(window);
  return GTK_WINDOW(window);
}

// A window that fills the screen, for kiosks and signs.
static inline GtkWindow *xcache_full_screen_window(WebKitWebView *view) {
  GtkWidget *window = gtk_window_new(GTK_WINDOW_TOPLEVEL);
  gtk_container_add(GTK_CONTAINER(window), GTK_WIDGET(view));
  gtk_window_fullscreen(GTK_WINDOW(window));
  gtk_widget_show_all(window);
  return GTK_WINDOW(window);
}

static inline void xcache_close_window(GtkWindow *window) { gtk_widget_destroy(GTK_WIDGET(window)); }

static inline GtkWidget *xcache_widget(WebKitWebView *view) { return GTK_WIDGET(view); }

static inline SoupCookie *xcache_cookie(const char *header, const char *url) {
  GUri *uri = g_uri_parse(url, SOUP_HTTP_URI_FLAGS, NULL);
  SoupCookie *cookie = uri ? soup_cookie_parse(header, uri) : NULL;
  if (uri) g_uri_unref(uri);
  return cookie;
}

// The URL of the response that a decision is about, if it is for the document of a view; otherwise NULL.
static inline const char *xcache_document_url(gpointer decision) {
  WebKitResponsePolicyDecision *response = WEBKIT_RESPONSE_POLICY_DECISION(decision);
  return webkit_response_policy_decision_is_main_frame_main_resource(response)
             ? webkit_uri_response_get_uri(webkit_response_policy_decision_get_response(response))
             : NULL;
}

// Whether WebKit itself would show the response that a decision is about. It downloads attachments, abandons what it can't
// show, and stays on the current page for a response without content.
static inline gboolean xcache_is_shown(gpointer decision) {
  WebKitResponsePolicyDecision *response = WEBKIT_RESPONSE_POLICY_DECISION(decision);
  WebKitURIResponse *answer = webkit_response_policy_decision_get_response(response);
  guint status = webkit_uri_response_get_status_code(answer);
  if (status == 204 || status == 205) return FALSE;
  SoupMessageHeaders *headers = webkit_uri_response_get_http_headers(answer);
  const char *disposition = headers ? soup_message_headers_get_one(headers, "Content-Disposition") : NULL;
  if (disposition) {
    disposition += strspn(disposition, " \t");
    size_t length = strcspn(disposition, "; \t");
    if (length == 10 && g_ascii_strncasecmp(disposition, "attachment", length) == 0) return FALSE;
  }
  return webkit_response_policy_decision_is_mime_type_supported(response);
}

// The URL of the document that a view shows, whatever is on its way to it; NULL if it shows none.
static inline const char *xcache_shown_uri(WebKitWebView *view) {
  WebKitBackForwardListItem *item =
    webkit_back_forward_list_get_current_item(webkit_web_view_get_back_forward_list(view));
  return item ? webkit_back_forward_list_item_get_uri(item) : NULL;
}

// The target of a decision about a navigation; NULL if the decision is about something else.
static inline const char *xcache_navigation_uri(gpointer decision) {
  if (!WEBKIT_IS_NAVIGATION_POLICY_DECISION(decision)) return NULL;
  WebKitNavigationAction *action =
    webkit_navigation_policy_decision_get_navigation_action(WEBKIT_NAVIGATION_POLICY_DECISION(decision));
  return webkit_uri_request_get_uri(webkit_navigation_action_get_request(action));
}

static inline void xcache_ignore(gpointer decision) { webkit_policy_decision_ignore(WEBKIT_POLICY_DECISION(decision)); }

// A header of a request; NULL if it has none of that name.
static inline const char *xcache_request_header(WebKitURIRequest *request, const char *name) {
  SoupMessageHeaders *headers = webkit_uri_request_get_http_headers(request);
  return headers ? soup_message_headers_get_one(headers, name) : NULL;
}

// Whether a picture is all one colour; false if it can't be read.
static inline gboolean xcache_is_plain(cairo_surface_t *surface) {
  cairo_surface_flush(surface);
  const unsigned char *data = cairo_image_surface_get_data(surface);
  int width = cairo_image_surface_get_width(surface), height = cairo_image_surface_get_height(surface);
  int stride = cairo_image_surface_get_stride(surface);
  if (!data || width <= 0 || height <= 0) return FALSE;
  guint32 first = *(const guint32 *)data;
  for (int y = 0; y < height; y++) {
    const guint32 *row = (const guint32 *)(data + (size_t)y * stride);
    for (int x = 0; x < width; x++)
      if (row[x] != first) return FALSE;
  }
  return TRUE;
}

static inline const char *xcache_download_uri(gpointer download) {
  WebKitURIRequest *request = webkit_download_get_request(WEBKIT_DOWNLOAD(download));
  return request ? webkit_uri_request_get_uri(request) : NULL;
}
static inline void xcache_authenticate_without(gpointer request) {
  webkit_authentication_request_authenticate(WEBKIT_AUTHENTICATION_REQUEST(request), NULL);
}
static inline void xcache_cancel_authentication(gpointer request) {
  webkit_authentication_request_cancel(WEBKIT_AUTHENTICATION_REQUEST(request));
}
static inline void xcache_cancel_file_chooser(gpointer request) {
  webkit_file_chooser_request_cancel(WEBKIT_FILE_CHOOSER_REQUEST(request));
}

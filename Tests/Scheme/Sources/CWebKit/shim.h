// The one door to WebKitGTK of this proof: what Swift can't import as it stands becomes a static inline here.
#pragma once
#include <string.h>
#include <webkit2/webkit2.h>

// Takes a request of a page; the headers are lines of `name: value`.
typedef void (*xs_on_request)(WebKitURISchemeRequest *, const char *url, const char *method, const char *headers);
typedef void (*xs_on_text)(const char *text);

static inline void xs_request(WebKitURISchemeRequest *request, gpointer data) {
  GString *lines = g_string_new(NULL);
  SoupMessageHeaders *headers = webkit_uri_scheme_request_get_http_headers(request);
  if (headers) {
    SoupMessageHeadersIter iter;
    const char *name, *value;
    soup_message_headers_iter_init(&iter, headers);
    while (soup_message_headers_iter_next(&iter, &name, &value)) g_string_append_printf(lines, "%s: %s\n", name, value);
  }
  g_object_ref(request);
  ((xs_on_request)data)(request, webkit_uri_scheme_request_get_uri(request),
                        webkit_uri_scheme_request_get_http_method(request), lines->str);
  g_string_free(lines, TRUE);
}

// The address of the document at the top of a request's view. While that is loaded it is the document's own.
static inline const char *xs_main_document(WebKitURISchemeRequest *request) {
  WebKitWebView *view = webkit_uri_scheme_request_get_web_view(request);
  return view ? webkit_web_view_get_uri(view) : NULL;
}

static inline void xs_register(WebKitWebContext *context, const char *scheme, xs_on_request handler) {
  WebKitSecurityManager *security = webkit_web_context_get_security_manager(context);
  webkit_security_manager_register_uri_scheme_as_secure(security, scheme);
  webkit_security_manager_register_uri_scheme_as_cors_enabled(security, scheme);
  webkit_web_context_register_uri_scheme(context, scheme, xs_request, (gpointer)handler, NULL);
}

// Answers, and lets go of the request. `headers` are pairs of name and value; a status of 0 fails it.
static inline void xs_finish(WebKitURISchemeRequest *request, int status, const char *type, const char *const *headers,
                             int count, const void *bytes, size_t length) {
  if (status == 0) {
    GError *error = g_error_new_literal(g_quark_from_string("xcache"), 1, "no answer");
    webkit_uri_scheme_request_finish_error(request, error);
    g_error_free(error);
  } else {
    GInputStream *stream = g_memory_input_stream_new_from_data(g_memdup2(bytes, length), (gssize)length, g_free);
    WebKitURISchemeResponse *response = webkit_uri_scheme_response_new(stream, (gint64)length);
    SoupMessageHeaders *fields = soup_message_headers_new(SOUP_MESSAGE_HEADERS_RESPONSE);
    for (int i = 0; i < count; i++) soup_message_headers_append(fields, headers[2 * i], headers[2 * i + 1]);
    webkit_uri_scheme_response_set_http_headers(response, fields);
    webkit_uri_scheme_response_set_status(response, (guint)status, NULL);
    if (type[0]) webkit_uri_scheme_response_set_content_type(response, type);
    webkit_uri_scheme_request_finish_with_response(request, response);
    g_object_unref(response);
    g_object_unref(stream);
  }
  g_object_unref(request);
}

static inline void xs_said(WebKitUserContentManager *manager, WebKitJavascriptResult *result, gpointer data) {
  char *text = jsc_value_to_string(webkit_javascript_result_get_js_value(result));
  ((xs_on_text)data)(text);
  g_free(text);
}

static inline void xs_listen(WebKitUserContentManager *manager, const char *name, xs_on_text handler) {
  char *signal = g_strconcat("script-message-received::", name, NULL);
  g_signal_connect(manager, signal, G_CALLBACK(xs_said), (gpointer)handler);
  g_free(signal);
  webkit_user_content_manager_register_script_message_handler(manager, name);
}

static inline void xs_ended(WebKitWebView *view, WebKitWebProcessTerminationReason reason, gpointer data) {
  ((xs_on_text)data)(reason == WEBKIT_WEB_PROCESS_CRASHED ? "the web process crashed" : "the web process ended");
}

static inline gboolean xs_failed(WebKitWebView *view, WebKitLoadEvent event, const char *url, GError *error, gpointer data) {
  char *text = g_strconcat(url, ": ", error->message, NULL);
  ((xs_on_text)data)(text);
  g_free(text);
  return TRUE;
}

// A view in a window that nobody sees; `trouble` is told of loads that fail and of a process that ends.
static inline WebKitWebView *xs_view(WebKitWebContext *context, WebKitUserContentManager *manager, xs_on_text trouble) {
  gpointer view = g_object_new(WEBKIT_TYPE_WEB_VIEW, "web-context", context, "user-content-manager", manager, NULL);
  g_signal_connect(view, "web-process-terminated", G_CALLBACK(xs_ended), (gpointer)trouble);
  g_signal_connect(view, "load-failed", G_CALLBACK(xs_failed), (gpointer)trouble);
  webkit_settings_set_enable_write_console_messages_to_stdout(webkit_web_view_get_settings(WEBKIT_WEB_VIEW(view)), TRUE);
  webkit_settings_set_hardware_acceleration_policy(
      webkit_web_view_get_settings(WEBKIT_WEB_VIEW(view)), WEBKIT_HARDWARE_ACCELERATION_POLICY_NEVER);
  GtkWidget *window = gtk_offscreen_window_new();
  gtk_window_set_default_size(GTK_WINDOW(window), 412, 732);
  gtk_container_add(GTK_CONTAINER(window), GTK_WIDGET(view));
  gtk_widget_show_all(window);
  return WEBKIT_WEB_VIEW(view);
}

static inline void xs_close(WebKitWebView *view) { gtk_widget_destroy(gtk_widget_get_toplevel(GTK_WIDGET(view))); }

static inline void xs_inject(WebKitUserContentManager *manager, const char *source) {
  WebKitUserScript *script = webkit_user_script_new(
      source, WEBKIT_USER_CONTENT_INJECT_ALL_FRAMES, WEBKIT_USER_SCRIPT_INJECT_AT_DOCUMENT_START, NULL, NULL);
  webkit_user_content_manager_add_script(manager, script);
  webkit_user_script_unref(script);
}

static inline void xs_give(SoupServer *server, SoupServerMessage *message, const char *path, GHashTable *query, gpointer page) {
  soup_server_message_set_status(message, 200, NULL);
  soup_server_message_set_response(message, "text/html", SOUP_MEMORY_COPY, page, strlen(page));
}

// A server of this machine, for as long as this process runs, which answers everything with one page: its address, or NULL.
static inline char *xs_serve(const char *page) {
  SoupServer *server = soup_server_new(NULL, NULL);
  soup_server_add_handler(server, NULL, xs_give, g_strdup(page), g_free);
  if (!soup_server_listen_local(server, 0, SOUP_SERVER_LISTEN_IPV4_ONLY, NULL)) return NULL;
  GSList *addresses = soup_server_get_uris(server);
  return g_uri_to_string(addresses->data);
}

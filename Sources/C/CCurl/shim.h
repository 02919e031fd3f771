// The only interface to libcurl: curl_easy_setopt and curl_easy_getinfo are variadic, so there is a function per argument type.
#pragma once
#include <curl/curl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

static inline CURLcode xcache_setopt_long(CURL *h, CURLoption o, long v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode xcache_setopt_off(CURL *h, CURLoption o, curl_off_t v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode xcache_setopt_string(CURL *h, CURLoption o, const char *v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode xcache_setopt_pointer(CURL *h, CURLoption o, void *v) { return curl_easy_setopt(h, o, v); }
// The bytes are copied.
static inline CURLcode xcache_setopt_blob(CURL *h, CURLoption o, const void *bytes, size_t count) {
  struct curl_blob blob = {(void *)bytes, count, CURL_BLOB_COPY};
  return curl_easy_setopt(h, o, &blob);
}
typedef size_t (*xcache_curl_callback)(char *, size_t, size_t, void *);
static inline CURLcode xcache_setopt_callback(CURL *h, CURLoption o, xcache_curl_callback v) { return curl_easy_setopt(h, o, v); }
static inline CURLcode xcache_getinfo_long(CURL *h, CURLINFO i, long *v) { return curl_easy_getinfo(h, i, v); }
static inline CURLcode xcache_getinfo_off(CURL *h, CURLINFO i, curl_off_t *v) { return curl_easy_getinfo(h, i, v); }
static inline CURLcode xcache_getinfo_string(CURL *h, CURLINFO i, char **v) { return curl_easy_getinfo(h, i, v); }
typedef int (*xcache_curl_seek)(void *, curl_off_t, int);
static inline CURLcode xcache_setopt_seek(CURL *h, xcache_curl_seek v) { return curl_easy_setopt(h, CURLOPT_SEEKFUNCTION, v); }
typedef int (*xcache_curl_progress)(void *, curl_off_t, curl_off_t, curl_off_t, curl_off_t);
static inline CURLcode xcache_setopt_progress(CURL *h, xcache_curl_progress v) {
  return curl_easy_setopt(h, CURLOPT_XFERINFOFUNCTION, v);
}
typedef int (*xcache_curl_prereq)(void *, char *, char *, int, int);
static inline CURLcode xcache_setopt_prereq(CURL *h, xcache_curl_prereq v) {
  return curl_easy_setopt(h, CURLOPT_PREREQFUNCTION, v);
}
typedef curl_socket_t (*xcache_curl_opensocket)(void *, curlsocktype, struct curl_sockaddr *);
static inline CURLcode xcache_setopt_opensocket(CURL *h, xcache_curl_opensocket v) {
  return curl_easy_setopt(h, CURLOPT_OPENSOCKETFUNCTION, v);
}
// Writes the bytes of an address in network order, and returns their count, or 0 for one that is neither IPv4 nor IPv6.
static inline int xcache_socket_address(const struct curl_sockaddr *a, unsigned char bytes[16]) {
  if (a->family == AF_INET) {
    memcpy(bytes, &((const struct sockaddr_in *)&a->addr)->sin_addr, 4);
    return 4;
  }
  if (a->family == AF_INET6) {
    memcpy(bytes, &((const struct sockaddr_in6 *)&a->addr)->sin6_addr, 16);
    return 16;
  }
  return 0;
}
static inline curl_socket_t xcache_open_socket(const struct curl_sockaddr *a) {
  return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}
static inline CURLMcode xcache_multi_setopt_long(CURLM *m, CURLMoption o, long v) { return curl_multi_setopt(m, o, v); }
// Returns the handle of a finished request and sets its result, or returns NULL if there is none.
static inline CURL *xcache_multi_finished(CURLM *m, CURLcode *code) {
  int left = 0;
  for (CURLMsg *message = curl_multi_info_read(m, &left); message; message = curl_multi_info_read(m, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    *code = message->data.result;
    return message->easy_handle;
  }
  return NULL;
}

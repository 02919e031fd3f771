// What an app's built-in proxy needs of libssl: a self-signed certificate for one host, and TLS over a non-blocking socket.
#pragma once
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

static inline int xcache_add_extension(X509 *certificate, int kind, const char *value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, certificate, certificate, NULL, NULL, 0);
  X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, kind, value);
  int is_added = extension && X509_add_ext(certificate, extension, -1) == 1;
  X509_EXTENSION_free(extension);
  return is_added;
}

// Returns a certificate for `name` (`DNS:m.example.com`, `IP:127.0.0.1`), self-signed with `key` and valid for a year from
// yesterday; it can't sign others. NULL if out of memory or randomness.
static inline X509 *xcache_own_certificate(EVP_PKEY *key, const char *name) {
  X509 *certificate = X509_new();
  unsigned char serial[16];
  BIGNUM *number = NULL;
  if (!certificate || RAND_bytes(serial, sizeof serial) != 1) goto failed;
  serial[0] &= 0x7F;
  number = BN_bin2bn(serial, sizeof serial, NULL);
  if (!number || !BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate))) goto failed;
  X509_NAME *subject = X509_get_subject_name(certificate);
  if (X509_set_version(certificate, 2) != 1 || !X509_gmtime_adj(X509_getm_notBefore(certificate), -86400) ||
      !X509_gmtime_adj(X509_getm_notAfter(certificate), 365L * 86400) ||
      X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)"xcache on this device", -1, -1, 0) != 1 ||
      X509_set_issuer_name(certificate, subject) != 1 || X509_set_pubkey(certificate, key) != 1 ||
      !xcache_add_extension(certificate, NID_basic_constraints, "critical,CA:FALSE") ||
      !xcache_add_extension(certificate, NID_ext_key_usage, "serverAuth") ||
      !xcache_add_extension(certificate, NID_subject_alt_name, name) || X509_sign(certificate, key, EVP_sha256()) == 0)
    goto failed;
  BN_free(number);
  return certificate;
failed:
  BN_free(number);
  X509_free(certificate);
  return NULL;
}

// Returns a server context with its own key and self-signed certificate for `name`, and writes the certificate to `pem` as PEM;
// NULL if it can't be made.
static inline SSL_CTX *xcache_own_context(const char *name, char *pem, int room) {
  SSL_CTX *context = SSL_CTX_new(TLS_server_method());
  EVP_PKEY *key = EVP_EC_gen("P-256");
  X509 *certificate = key ? xcache_own_certificate(key, name) : NULL;
  BIO *text = BIO_new(BIO_s_mem());
  int length = -1;
  if (context && certificate && text && PEM_write_bio_X509(text, certificate) == 1) length = BIO_read(text, pem, room - 1);
  int is_made = length > 0 && length < room - 1 && SSL_CTX_use_certificate(context, certificate) == 1 &&
      SSL_CTX_use_PrivateKey(context, key) == 1 && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1;
  if (is_made) {
    pem[length] = 0;
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  }
  BIO_free(text);
  X509_free(certificate);
  EVP_PKEY_free(key);
  if (is_made) return context;
  SSL_CTX_free(context);
  return NULL;
}

// Returns a client context that trusts the file `authorities`, or the system's authorities if that is NULL.
static inline SSL_CTX *xcache_client_context(const char *authorities) {
  SSL_CTX *context = SSL_CTX_new(TLS_client_method());
  int is_made = context && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
      (authorities ? SSL_CTX_load_verify_file(context, authorities) : SSL_CTX_set_default_verify_paths(context)) == 1;
  if (is_made) {
    SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
    SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    return context;
  }
  SSL_CTX_free(context);
  return NULL;
}

// What a session reads from and writes to: bytes received early, then a socket.
struct xcache_wire {
  int socket;
  int has_ended;
  size_t at, count;
  unsigned char early[];
};

static inline int xcache_wire_read(BIO *bio, char *out, int size) {
  struct xcache_wire *wire = BIO_get_data(bio);
  ssize_t count;
  BIO_clear_retry_flags(bio);
  if (size > 0 && wire->at < wire->count) {
    size_t left = wire->count - wire->at, taken = left < (size_t)size ? left : (size_t)size;
    memcpy(out, wire->early + wire->at, taken);
    wire->at += taken;
    return (int)taken;
  }
  do count = recv(wire->socket, out, (size_t)size, 0);
  while (count < 0 && errno == EINTR);
  if (count == 0 && size > 0) wire->has_ended = 1;
  if (count < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)) BIO_set_retry_read(bio);
  return (int)count;
}

static inline int xcache_wire_write(BIO *bio, const char *bytes, int size) {
  struct xcache_wire *wire = BIO_get_data(bio);
  ssize_t count;
  BIO_clear_retry_flags(bio);
  do count = send(wire->socket, bytes, (size_t)size, MSG_NOSIGNAL);
  while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)) BIO_set_retry_write(bio);
  return (int)count;
}

static inline long xcache_wire_control(BIO *bio, int command, long number, void *pointer) {
  if (command == BIO_CTRL_EOF) return ((struct xcache_wire *)BIO_get_data(bio))->has_ended;
  return command == BIO_CTRL_FLUSH;
}

static inline int xcache_wire_free(BIO *bio) {
  free(BIO_get_data(bio));
  return 1;
}

// A session's socket I/O: libssl's own raises SIGPIPE if the peer is gone, which ends an app that doesn't expect it. NULL if
// out of memory.
static inline BIO_METHOD *xcache_wire_method(void) {
  BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
  if (!method) return NULL;
  BIO_meth_set_read(method, xcache_wire_read);
  BIO_meth_set_write(method, xcache_wire_write);
  BIO_meth_set_ctrl(method, xcache_wire_control);
  BIO_meth_set_destroy(method, xcache_wire_free);
  return method;
}

// Returns a session over a socket of which `count` bytes have already been read. `host` is the server's name, which its
// certificate must match; NULL makes it a server's session.
static inline SSL *xcache_session(
    SSL_CTX *context, const BIO_METHOD *method, int socket, const char *host, const unsigned char *early, size_t count) {
  SSL *ssl = SSL_new(context);
  struct xcache_wire *wire = malloc(sizeof *wire + count);
  BIO *bio = ssl && wire ? BIO_new(method) : NULL;
  if (!bio) {
    free(wire);
    goto failed;
  }
  *wire = (struct xcache_wire){.socket = socket, .count = count};
  if (count) memcpy(wire->early, early, count);
  BIO_set_data(bio, wire);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  // As in browsers and libsoup, an end without the closing alert is an end; a reset isn't.
  SSL_set_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
  if (!host) {
    SSL_set_accept_state(ssl);
    return ssl;
  }
  SSL_set_connect_state(ssl);
  // An IP address isn't a name: it isn't sent as SNI, and is matched against the certificate's addresses (RFC 6066 §3).
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) return ssl;
  if (SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1) return ssl;
failed:
  SSL_free(ssl);
  return NULL;
}

// The result of a libssl call.
enum xcache_tls_step { xcache_tls_done, xcache_tls_wants_read, xcache_tls_wants_write, xcache_tls_ended, xcache_tls_failed };

static inline int xcache_tls_step_of(SSL *ssl, int result) {
  switch (SSL_get_error(ssl, result)) {
    case SSL_ERROR_WANT_READ: return xcache_tls_wants_read;
    case SSL_ERROR_WANT_WRITE: return xcache_tls_wants_write;
    case SSL_ERROR_ZERO_RETURN: return xcache_tls_ended;
    default: return xcache_tls_failed;
  }
}

static inline int xcache_tls_handshake(SSL *ssl) {
  ERR_clear_error();
  int result = SSL_do_handshake(ssl);
  int step = result == 1 ? xcache_tls_done : xcache_tls_step_of(ssl, result);
  // Ended before it began.
  return step == xcache_tls_ended ? xcache_tls_failed : step;
}

static inline int xcache_tls_read(SSL *ssl, void *out, size_t room, size_t *count) {
  ERR_clear_error();
  int result = SSL_read_ex(ssl, out, room, count);
  int step = result == 1 ? xcache_tls_done : xcache_tls_step_of(ssl, result);
  // An end in the middle of a record isn't an end.
  return step == xcache_tls_ended && SSL_has_pending(ssl) ? xcache_tls_failed : step;
}

static inline int xcache_tls_write(SSL *ssl, const void *bytes, size_t size, size_t *count) {
  ERR_clear_error();
  int result = SSL_write_ex(ssl, bytes, size, count);
  return result == 1 ? xcache_tls_done : xcache_tls_step_of(ssl, result);
}

// Tells the peer that no more will be sent.
static inline void xcache_tls_finish(SSL *ssl) {
  ERR_clear_error();
  SSL_shutdown(ssl);
}

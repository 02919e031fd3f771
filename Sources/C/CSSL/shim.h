// The only interface to libssl: wraps its macros, and implements its socket I/O.
#pragma once
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// A session's socket I/O, which replaces libssl's own: that raises SIGPIPE if the peer is gone, which ends an app that doesn't
// expect it. This one records the result of each call, so that nobody asks the kernel again for what is known, and it limits how
// much one call of libssl reads.
typedef struct xcache_wire {
  int socket;
  // The first byte received; -1 before.
  int first;
  // How many bytes may be read before it is the caller's turn again.
  long budget;
  // Whether the last read took everything that had arrived.
  _Bool drained;
  // Whether the peer has ended its side without the closing alert.
  _Bool ended;
  // Whether the first byte is text, and so not TLS (RFC 8446 §5.1: a record begins with its type, 20 to 23).
  _Bool plain;
  // Whether more will be written immediately.
  _Bool more;
  // The bytes that were received before the session began and that it hasn't read yet. They follow this struct.
  const unsigned char *early;
  size_t early_count;
} xcache_wire;

// As recv(2), but the bytes that were received early come first.
static inline ssize_t xcache_wire_receive(xcache_wire *wire, char *out, size_t size) {
  if (wire->early_count) {
    size_t taken = wire->early_count < size ? wire->early_count : size;
    memcpy(out, wire->early, taken);
    wire->early += taken;
    wire->early_count -= taken;
    return (ssize_t)taken;
  }
  ssize_t count;
  do count = recv(wire->socket, out, size, 0);
  while (count < 0 && errno == EINTR);
  if (count > 0) wire->drained = (size_t)count < size;
  return count;
}

static inline int xcache_wire_read(BIO *bio, char *out, int size) {
  xcache_wire *wire = (xcache_wire *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  if (wire->budget <= 0) {
    BIO_set_retry_read(bio);
    return -1;
  }
  ssize_t count = xcache_wire_receive(wire, out, (size_t)size);
  if (count > 0) {
    wire->budget -= count;
    if (wire->first < 0) {
      wire->first = (unsigned char)out[0];
      wire->plain = wire->first >= 'A' && wire->first <= 'Z';
      if (wire->plain) return -1;
    }
    return (int)count;
  }
  if (count == 0) wire->ended = 1;
  else if (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM) {
    wire->drained = 1;
    BIO_set_retry_read(bio);
  }
  return (int)count;
}

static inline int xcache_wire_write(BIO *bio, const char *bytes, int size) {
  xcache_wire *wire = (xcache_wire *)BIO_get_data(bio);
  BIO_clear_retry_flags(bio);
  ssize_t count;
  do count = send(wire->socket, bytes, (size_t)size, MSG_NOSIGNAL | (wire->more ? MSG_MORE : 0));
  while (count < 0 && errno == EINTR);
  if (count < 0 && (errno == EAGAIN || errno == ENOBUFS || errno == ENOMEM)) BIO_set_retry_write(bio);
  return (int)count;
}

static inline long xcache_wire_control(BIO *bio, int command, long number, void *pointer) {
  if (command == BIO_CTRL_EOF) return ((xcache_wire *)BIO_get_data(bio))->ended;
  return command == BIO_CTRL_FLUSH;
}

static inline int xcache_wire_free(BIO *bio) {
  free(BIO_get_data(bio));
  return 1;
}

// Returns NULL if out of memory.
static inline BIO_METHOD *xcache_wire_method(void) {
  BIO_METHOD *method = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "wire");
  if (!method) return NULL;
  BIO_meth_set_read(method, xcache_wire_read);
  BIO_meth_set_write(method, xcache_wire_write);
  BIO_meth_set_ctrl(method, xcache_wire_control);
  BIO_meth_set_destroy(method, xcache_wire_free);
  return method;
}

// Returns a session over a socket of which `count` bytes have already been read, and its wire, which is freed with it; NULL if out
// of memory. It has no side yet.
static inline SSL *xcache_tls_session(
    SSL_CTX *context, const BIO_METHOD *method, int socket, const unsigned char *early, size_t count, xcache_wire **out) {
  SSL *ssl = SSL_new(context);
  xcache_wire *wire = (xcache_wire *)malloc(sizeof *wire + count);
  BIO *bio = ssl && wire ? BIO_new(method) : NULL;
  if (!bio) {
    free(wire);
    SSL_free(ssl);
    return NULL;
  }
  *wire = (xcache_wire){.socket = socket, .first = -1, .early = (const unsigned char *)(wire + 1), .early_count = count};
  if (count) memcpy(wire + 1, early, count);
  BIO_set_data(bio, wire);
  BIO_set_init(bio, 1);
  SSL_set_bio(ssl, bio, bio);
  // As in browsers and libsoup, an end without the closing alert is an end; a reset isn't.
  SSL_set_options(ssl, SSL_OP_IGNORE_UNEXPECTED_EOF);
  *out = wire;
  return ssl;
}

// Makes a session that of a client of `host`, which the server's certificate must match; returns 0 if out of memory.
static inline int xcache_tls_connect_to(SSL *ssl, const char *host) {
  SSL_set_connect_state(ssl);
  // An IP address isn't a name: it isn't sent as SNI, and is matched against the certificate's addresses (RFC 6066 §3).
  if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host) == 1) return 1;
  return SSL_set1_host(ssl, host) == 1 && SSL_set_tlsext_host_name(ssl, host) == 1;
}

// Selects http/1.1; a client that offers only other protocols gets an alert (RFC 7301 §3.2).
static inline int xcache_select_protocol(
    SSL *ssl, const unsigned char **out, unsigned char *length, const unsigned char *offered, unsigned int size,
    void *unused) {
  static const char name[] = "\x08http/1.1";
  for (unsigned int at = 0; at < size; at += offered[at] + 1u) {
    if (size - at < 9 || memcmp(offered + at, name, 9) != 0) continue;
    *out = offered + at + 1;
    *length = 8;
    return SSL_TLSEXT_ERR_OK;
  }
  return SSL_TLSEXT_ERR_ALERT_FATAL;
}

// Configures a server's context; returns 0 if libssl rejects a setting.
static inline int xcache_tls_rules(SSL_CTX *context, long seconds) {
  SSL_CTX_set_options(
      context, SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA | SSL_OP_NO_COMPRESSION);
  SSL_CTX_set_mode(
      context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_read_ahead(context, 1);
  // Clients keep sessions, in tickets.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_timeout(context, seconds);
  SSL_CTX_set_alpn_select_cb(context, xcache_select_protocol, NULL);
  static const unsigned char name[] = "xcache";
  return SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1 &&
      SSL_CTX_set_session_id_context(context, name, sizeof name - 1) == 1 &&
      SSL_CTX_set_num_tickets(context, 1) == 1 && SSL_CTX_set1_groups_list(context, "X25519:P-256:P-384") == 1 &&
      SSL_CTX_set_cipher_list(
          context,
          "ECDHE-ECDSA-AES128-GCM-SHA256:ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-AES256-GCM-SHA384:"
          "ECDHE-RSA-AES256-GCM-SHA384:ECDHE+CHACHA20") == 1 &&
      SSL_CTX_set_ciphersuites(
          context, "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256") == 1;
}

// Sets the context's certificate, and its key.
static inline int xcache_tls_use(SSL_CTX *context, X509 *leaf, EVP_PKEY *key) {
  return SSL_CTX_use_certificate(context, leaf) == 1 && SSL_CTX_use_PrivateKey(context, key) == 1;
}

// Adds a certificate to the context's chain; the context retains it.
static inline int xcache_tls_add_chain(SSL_CTX *context, X509 *certificate) {
  return SSL_CTX_add1_chain_cert(context, certificate) == 1;
}

// The size of the ticket keys, in bytes.
static inline long xcache_ticket_key_size(SSL_CTX *context) { return SSL_CTX_set_tlsext_ticket_keys(context, NULL, 0); }

static inline int xcache_set_ticket_keys(SSL_CTX *context, void *keys, long size) {
  return SSL_CTX_set_tlsext_ticket_keys(context, keys, size) == 1;
}

// Rejects keys with a pass phrase: there is nobody to ask for it.
static inline int xcache_no_pass_phrase(char *out, int size, int writing, void *unused) { return -1; }

static inline EVP_PKEY *xcache_read_key(BIO *text) {
  return PEM_read_bio_PrivateKey(text, NULL, xcache_no_pass_phrase, NULL);
}

// Whether reading certificates stopped because there were no more.
static inline int xcache_ended_without_more(void) {
  unsigned long code = ERR_peek_last_error();
  return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}

// Writes the DNS name at `index` of a certificate; returns its length, or -1 if there is none.
static inline int xcache_host_name(X509 *certificate, int index, char *out, int room) {
  GENERAL_NAMES *names = (GENERAL_NAMES *)X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
  int found = -1;
  for (int i = 0; i < sk_GENERAL_NAME_num(names); i++) {
    const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
    if (name->type != GEN_DNS || index-- != 0) continue;
    int length = ASN1_STRING_length(name->d.dNSName);
    if (length <= 0 || length > room) break;
    memcpy(out, ASN1_STRING_get0_data(name->d.dNSName), (size_t)length);
    found = length;
    break;
  }
  GENERAL_NAMES_free(names);
  return found;
}

// Writes the certificate's subject in the form of RFC 4514 (`CN=origin,O=Example`), with control characters escaped but not
// non-ASCII letters; returns the length.
static inline int xcache_subject(X509 *certificate, char *out, int room) {
  BIO *buffer = BIO_new(BIO_s_mem());
  if (!buffer) return 0;
  X509_NAME_print_ex(buffer, X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253 & ~ASN1_STRFLGS_ESC_MSB);
  int length = BIO_read(buffer, out, room);
  BIO_free(buffer);
  return length < 0 ? 0 : length;
}

static inline int xcache_is_resumed(SSL *ssl) { return SSL_session_reused(ssl); }

// MARK: What a device alone needs

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

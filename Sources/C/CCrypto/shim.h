// The only interface to libcrypto: what Swift can't import (variadics, macros) becomes a static inline function here.
#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/x509.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <string.h>

// Whether libcrypto has allocated nothing yet in this process.
static inline int CCrypto_is_unused(void) {
  CRYPTO_malloc_fn allocate;
  CRYPTO_realloc_fn reallocate;
  CRYPTO_free_fn release;
  CRYPTO_get_mem_functions(&allocate, &reallocate, &release);
  return CRYPTO_set_mem_functions(allocate, reallocate, release);
}

static inline EVP_PKEY *CCrypto_generate_p256(void) {
  return EVP_EC_gen("P-256");
}

// Whether a private key is one on P-256.
static inline int CCrypto_is_p256(const EVP_PKEY *key) {
  char name[32];
  size_t count = 0;
  return EVP_PKEY_get_base_id(key) == EVP_PKEY_EC && EVP_PKEY_get_group_name(key, name, sizeof name, &count) == 1
    && strcmp(name, "prime256v1") == 0;
}

// PEM_read_bio_PrivateKey(3): "callback … should return the number of characters in the password", which is `context`, a C string.
static inline int CCrypto_passphrase(char *out, int size, int isForWriting, void *context) {
  (void)isForWriting;
  size_t count = strlen((const char *)context);
  if (count == 0 || count > (size_t)size) return -1;
  memcpy(out, context, count);
  return (int)count;
}

// PrivateKeyInfo (RFC 5208) in DER.
static inline int CCrypto_private_der(const EVP_PKEY *key, unsigned char **out) {
  PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
  if (info == NULL) return -1;
  int count = i2d_PKCS8_PRIV_KEY_INFO(info, out);
  PKCS8_PRIV_KEY_INFO_free(info);
  return count;
}

// EncryptedPrivateKeyInfo in PEM: PBES2 with AES-256-CBC, and scrypt with the parameters of PKCS5_pbe2_set_scrypt's callers.
static inline int CCrypto_write_encrypted(BIO *out, const EVP_PKEY *key, const unsigned char *phrase, int count) {
  PKCS8_PRIV_KEY_INFO *info = EVP_PKEY2PKCS8(key);
  X509_ALGOR *algorithm = PKCS5_pbe2_set_scrypt(EVP_aes_256_cbc(), NULL, 0, NULL, 16384, 8, 1);
  X509_SIG *sealed = info == NULL || algorithm == NULL
    ? NULL : PKCS8_set0_pbe((const char *)phrase, count, info, algorithm);
  // It takes the algorithm if it succeeds.
  if (sealed == NULL) X509_ALGOR_free(algorithm);
  int done = sealed != NULL && PEM_write_bio_PKCS8(out, sealed);
  X509_SIG_free(sealed);
  PKCS8_PRIV_KEY_INFO_free(info);
  return done;
}

// BIO_get_mem_data is a macro.
static inline long CCrypto_memory(BIO *memory, char **start) {
  return BIO_get_mem_data(memory, start);
}

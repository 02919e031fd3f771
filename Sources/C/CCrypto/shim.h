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
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/param_build.h>
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

// A public key made of parameters (EVP_PKEY_fromdata(3)), which takes them; NULL if they aren't a valid one.
static inline EVP_PKEY *CCrypto_public_key(const char *type, OSSL_PARAM *params) {
  EVP_PKEY *key = NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_name(NULL, type, NULL);
  if (context == NULL || params == NULL || EVP_PKEY_fromdata_init(context) != 1
      || EVP_PKEY_fromdata(context, &key, EVP_PKEY_PUBLIC_KEY, params) != 1) key = NULL;
  OSSL_PARAM_free(params);
  EVP_PKEY_CTX_free(context);
  return key;
}

// An RSA key of its modulus and exponent, most significant byte first.
static inline EVP_PKEY *CCrypto_rsa_key(const unsigned char *modulus, size_t count, const unsigned char *exponent, size_t length) {
  BIGNUM *n = BN_bin2bn(modulus, (int)count, NULL);
  BIGNUM *e = BN_bin2bn(exponent, (int)length, NULL);
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  OSSL_PARAM *params = NULL;
  if (n != NULL && e != NULL && build != NULL && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_N, n)
      && OSSL_PARAM_BLD_push_BN(build, OSSL_PKEY_PARAM_RSA_E, e)) params = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY *key = params == NULL ? NULL : CCrypto_public_key("RSA", params);
  OSSL_PARAM_BLD_free(build);
  BN_free(e);
  BN_free(n);
  return key;
}

// A key on P-256 of its point, uncompressed (SEC 1 §2.3.3); NULL if it isn't on the curve.
static inline EVP_PKEY *CCrypto_p256_key(const unsigned char *point, size_t count) {
  OSSL_PARAM_BLD *build = OSSL_PARAM_BLD_new();
  OSSL_PARAM *params = NULL;
  if (build != NULL && OSSL_PARAM_BLD_push_utf8_string(build, OSSL_PKEY_PARAM_GROUP_NAME, "prime256v1", 0)
      && OSSL_PARAM_BLD_push_octet_string(build, OSSL_PKEY_PARAM_PUB_KEY, point, count)) params = OSSL_PARAM_BLD_to_param(build);
  EVP_PKEY *key = params == NULL ? NULL : CCrypto_public_key("EC", params);
  OSSL_PARAM_BLD_free(build);
  if (key == NULL) return NULL;
  EVP_PKEY_CTX *context = EVP_PKEY_CTX_new_from_pkey(NULL, key, NULL);
  int isValid = context != NULL && EVP_PKEY_public_check(context) == 1;
  EVP_PKEY_CTX_free(context);
  if (isValid) return key;
  EVP_PKEY_free(key);
  return NULL;
}

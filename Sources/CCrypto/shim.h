// The one door to crypto: what Swift can't import as it stands (variadics, macros) becomes a static inline here.
#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

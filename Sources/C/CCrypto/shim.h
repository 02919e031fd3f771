// The only interface to libcrypto: what Swift can't import (variadics, macros) becomes a static inline function here.
#pragma once
#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>
#include <openssl/x509.h>

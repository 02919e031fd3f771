// The only interface to brotli's decoder.
#pragma once
#include <brotli/decode.h>

// The only way to brotli's decoder.
#pragma once
#include <brotli/decode.h>

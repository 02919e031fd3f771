// The one door to brotli's decoder.
#pragma once
#include <brotli/decode.h>

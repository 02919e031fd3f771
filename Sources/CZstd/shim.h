// The one door to zstd: what Swift can't import as it stands (variadics, macros) becomes a static inline here.
#pragma once
#include <zstd.h>

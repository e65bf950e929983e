// WEIR_API marks what libweir.so shows; everything else of it is hidden.

#pragma once

#if defined(__GNUC__)
#define WEIR_API __attribute__((visibility("default")))
#else
#define WEIR_API
#endif

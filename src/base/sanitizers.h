// Which sanitizer looks at this build while it runs: gcc tells by a macro, clang by a feature.
//
// Code asks where it would hide mistakes from one, by a pool of its own; tests ask where one makes
// them slow.

#pragma once

namespace weir {

#if defined(__has_feature)
#define WEIR_HAS_FEATURE(feature) __has_feature(feature)
#else
#define WEIR_HAS_FEATURE(feature) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || WEIR_HAS_FEATURE(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif

#if defined(__SANITIZE_THREAD__) || WEIR_HAS_FEATURE(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#undef WEIR_HAS_FEATURE

}  // namespace weir

#pragma once

// Every file is built for the baseline CPU; code for more stands between these two, so that no shared inline function
// can come out with instructions the machine lacks. System headers must be included before.
#define HALFBYTE_PRAGMA(x) _Pragma(#x)
#if defined(__clang__)
#define HALFBYTE_TARGET_BEGIN(features) \
  HALFBYTE_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define HALFBYTE_TARGET_END HALFBYTE_PRAGMA(clang attribute pop)
#else
#define HALFBYTE_TARGET_BEGIN(features) HALFBYTE_PRAGMA(GCC push_options) HALFBYTE_PRAGMA(GCC target(features))
#define HALFBYTE_TARGET_END HALFBYTE_PRAGMA(GCC pop_options)
#endif

#if defined(HALFBYTE_SCALAR)
#define HALFBYTE_INLINE inline
#define HALFBYTE_UNROLL
#else
/** A call would lose registers, and mix targets. */
#define HALFBYTE_INLINE inline __attribute__((always_inline))
/** Loops over register arrays must vanish, or the arrays go to memory. */
#if defined(__clang__)
#define HALFBYTE_UNROLL HALFBYTE_PRAGMA(unroll)
#else
#define HALFBYTE_UNROLL HALFBYTE_PRAGMA(GCC unroll 32)
#endif
#endif

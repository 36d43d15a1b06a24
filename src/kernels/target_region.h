// MOTLEY_TARGET_BEGIN("avx2,fma") … MOTLEY_TARGET_END around the bodies of one instruction set, instead of -march
// flags: nothing outside the region can be compiled to instructions that the processor may lack. Include every header
// before the region, define no standard-library template inside it, and keep its helpers in an anonymous namespace, so
// that no other file can link to them.
#pragma once

#define MOTLEY_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define MOTLEY_TARGET_BEGIN(features) \
  MOTLEY_PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define MOTLEY_TARGET_END MOTLEY_PRAGMA(clang attribute pop)
#else
#define MOTLEY_TARGET_BEGIN(features) MOTLEY_PRAGMA(GCC push_options) MOTLEY_PRAGMA(GCC target(features))
#define MOTLEY_TARGET_END MOTLEY_PRAGMA(GCC pop_options)
#endif

// Loops over tiles have constant trip counts and must be unrolled, or their register arrays live in memory.
#if defined(__clang__)
#define MOTLEY_UNROLL MOTLEY_PRAGMA(clang loop unroll(full))
#else
#define MOTLEY_UNROLL MOTLEY_PRAGMA(GCC unroll 16)
#endif
#define MOTLEY_INLINE inline __attribute__((always_inline))

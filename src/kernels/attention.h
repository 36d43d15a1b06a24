// Sizes that the attention kernels of all instruction sets share, because one scratch function serves them. Not a
// public header.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/table.h"

namespace motley::kernels {

// Query rows that are scored together. Their scores over 512 keys are 48 KiB (they stay in L2), and a block of 16 keys
// that was widened from f16 for them is used 24 times.
inline constexpr uint32_t kAttentionRows = 24;
// Room for 16 keys, widened to f32, and for a sum of each row.
inline constexpr size_t kAttentionKeyFloats = size_t{16} * AttentionArgs::kMaxHeadDim;
inline constexpr size_t kAttentionExtraFloats = kAttentionKeyFloats + kAttentionRows;

constexpr size_t round_up_16(size_t n) { return (n + 15) / 16 * 16; }

}  // namespace motley::kernels

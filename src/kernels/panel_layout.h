// Where things lie inside a panel (panel.h defines it): offsets for every kernel, and the portable reading of codes for
// the scalar ones. Not a public header of the module.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/panel.h"

namespace motley::kernels {

inline constexpr uint32_t kVectorBytes = 64;      // 16 rows x 4 bytes
inline constexpr uint32_t kQuadsPerChunk = 8;     // a quad: 4 inputs of 16 rows, one byte each when unpacked
inline constexpr uint32_t kSuperBlockCols = 256;  // Q6_K
inline constexpr uint32_t kSuperGroups = 16;      // Q6_K, groups of 16 inputs in a super block

constexpr uint32_t chunk_bytes(uint32_t bits) { return bits * kVectorBytes; }

// Widths of the planes of b-bit codes, the one with the low bits first; `high` is 0 where there is only one.
struct PlaneWidths {
  uint32_t low = 0, high = 0;
};
constexpr PlaneWidths plane_widths(uint32_t bits) {
  if (bits == 3) return {2, 1};
  if (bits == 5) return {4, 1};
  if (bits == 6) return {4, 2};
  return {bits, 0};
}

// One block of an integer panel: codes at 0, scales and biases behind them.
struct IntegerBlock {
  uint32_t scales_at = 0, biases_at = 0, bytes = 0;
};
IntegerBlock integer_block(const PanelFormat& format);

// One block of a Q6_K panel.
inline constexpr uint32_t kSuperScalesAt = 8 * chunk_bytes(6);
inline constexpr uint32_t kSuperScaleAt = kSuperScalesAt + kSuperGroups * kPanelRows;
inline constexpr uint32_t kSuperBytes = kSuperScaleAt + 2 * kPanelRows;

// Code of input `col` (of the chunk's 32) and row `row` (of the panel's 16).
inline uint32_t chunk_code(const std::byte* chunk, uint32_t bits, uint32_t col, uint32_t row) {
  const uint32_t quad = col / 4, lane = 4 * row + col % 4;
  const auto plane = [&](const std::byte* at, uint32_t width) {
    const uint32_t per_byte = 8 / width;
    const auto byte = std::to_integer<uint32_t>(at[quad / per_byte * kVectorBytes + lane]);
    return byte >> (width * (quad % per_byte)) & ((1u << width) - 1);
  };
  const PlaneWidths widths = plane_widths(bits);
  const uint32_t low = plane(chunk, widths.low);
  return widths.high == 0 ? low : low | plane(chunk + widths.low * kVectorBytes, widths.high) << widths.low;
}

}  // namespace motley::kernels

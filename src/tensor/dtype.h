// Element types as files store them, and the two 16-bit float conversions that everything shares.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace motley::tensor {

enum class DType : uint8_t {
  kF64,
  kF32,
  kF16,
  kBF16,
  kF8E4M3,
  kF8E5M2,
  kF8E8M0,
  kI64,
  kI32,
  kI16,
  kI8,
  kU64,
  kU32,
  kU16,
  kU8,
  kBool,
};

size_t size_bytes(DType dtype);
std::string_view name(DType dtype);  // "f16", "u32", …

// The dtype of a safetensors header string ("F16", "U32", …); nullopt when motley does not know it.
std::optional<DType> dtype_from_safetensors(std::string_view text);

// Exact widening (subnormals, infinities and NaN included).
float f16_to_f32(uint16_t bits);
inline float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// Round to nearest, ties to even; overflow goes to infinity.
uint16_t f32_to_f16(float value);
uint16_t f32_to_bf16(float value);

// Element `index` of an unaligned array of F32, F16 or BF16.
float load_float(DType dtype, const std::byte* array, size_t index);

}  // namespace motley::tensor

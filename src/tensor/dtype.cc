#include "tensor/dtype.h"

#include <array>
#include <cstring>
#include <utility>

namespace motley::tensor {
namespace {

struct Row {
  DType dtype;
  size_t size_bytes;
  std::string_view name;
  std::string_view safetensors;
};

constexpr std::array kRows = {
    Row{DType::kF64, 8, "f64", "F64"},
    Row{DType::kF32, 4, "f32", "F32"},
    Row{DType::kF16, 2, "f16", "F16"},
    Row{DType::kBF16, 2, "bf16", "BF16"},
    Row{DType::kF8E4M3, 1, "f8_e4m3", "F8_E4M3"},
    Row{DType::kF8E5M2, 1, "f8_e5m2", "F8_E5M2"},
    Row{DType::kF8E8M0, 1, "f8_e8m0", "F8_E8M0"},
    Row{DType::kI64, 8, "i64", "I64"},
    Row{DType::kI32, 4, "i32", "I32"},
    Row{DType::kI16, 2, "i16", "I16"},
    Row{DType::kI8, 1, "i8", "I8"},
    Row{DType::kU64, 8, "u64", "U64"},
    Row{DType::kU32, 4, "u32", "U32"},
    Row{DType::kU16, 2, "u16", "U16"},
    Row{DType::kU8, 1, "u8", "U8"},
    Row{DType::kBool, 1, "bool", "BOOL"},
};

const Row& row(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

size_t size_bytes(DType dtype) { return row(dtype).size_bytes; }
std::string_view name(DType dtype) { return row(dtype).name; }

std::optional<DType> dtype_from_safetensors(std::string_view text) {
  for (const Row& candidate : kRows)
    if (candidate.safetensors == text) return candidate.dtype;
  return std::nullopt;
}

float f16_to_f32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16;
  const uint32_t magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)  // infinity or NaN: widen the exponent, keep the payload
    return std::bit_cast<float>(sign | 0x7f800000u | ((magnitude & 0x3ffu) << 13));
  // Placing the magnitude 112 exponents too low and multiplying by 2^112 is exact, for subnormals too.
  const float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(scaled));
}

uint16_t f32_to_f16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u;
  const uint32_t magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds to 2^16 or more
  if (magnitude < 0x38800000u) {
    // Subnormal result: adding 0.5 leaves the value, rounded to multiples of 2^-24, in the low mantissa bits.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - std::bit_cast<uint32_t>(0.5f)));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}

uint16_t f32_to_bf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

float load_float(DType dtype, const std::byte* array, size_t index) {
  if (dtype == DType::kF32) {
    float value;
    std::memcpy(&value, array + index * 4, 4);
    return value;
  }
  uint16_t half;
  std::memcpy(&half, array + index * 2, 2);
  return dtype == DType::kBF16 ? bf16_to_f32(half) : f16_to_f32(half);
}

}  // namespace motley::tensor

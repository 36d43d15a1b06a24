#include "tensor/dtype.h"

#include <cmath>
#include <limits>

#include "gtest/gtest.h"

namespace motley::tensor {
namespace {

// The compiler's own half (rounded correctly) is the independent reference. gcc 12 has another name for it on Arm.
#if defined(__aarch64__)
using CompilersHalf = __fp16;
#else
using CompilersHalf = _Float16;
#endif

TEST(F16, WideningEqualsTheCompilersForAllBitPatterns) {
  for (uint32_t bits = 0; bits < 0x10000u; ++bits) {
    const float expected = static_cast<float>(std::bit_cast<CompilersHalf>(static_cast<uint16_t>(bits)));
    const float got = f16_to_f32(static_cast<uint16_t>(bits));
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(got)) << bits;
    } else {
      EXPECT_EQ(std::bit_cast<uint32_t>(expected), std::bit_cast<uint32_t>(got)) << bits;
    }
  }
}

TEST(F16, NarrowingEqualsTheCompilersOnAWideSample) {
  for (uint64_t bits = 0; bits <= 0xffffffffu; bits += 4099) {
    const float value = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (std::isnan(value)) continue;
    EXPECT_EQ(std::bit_cast<uint16_t>(static_cast<CompilersHalf>(value)), f32_to_f16(value)) << value;
  }
}

TEST(F16, NarrowingBreaksTiesToEven) {
  EXPECT_EQ(f32_to_f16(1.0f + 0x1p-11f), 0x3c00);      // half way, stays even
  EXPECT_EQ(f32_to_f16(1.0f + 3 * 0x1p-11f), 0x3c02);  // half way, goes up to even
  EXPECT_EQ(f32_to_f16(65519.0f), 0x7bff);             // largest that stays finite
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);             // half way to 2^16: infinity
  EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);             // half of the smallest subnormal: even is zero
}

TEST(BF16, RoundTripsAndRoundsToEven) {
  EXPECT_EQ(f32_to_bf16(1.0f), 0x3f80);
  EXPECT_EQ(f32_to_bf16(1.0f + 0x1p-8f), 0x3f80);      // half way, stays even
  EXPECT_EQ(f32_to_bf16(1.0f + 3 * 0x1p-8f), 0x3f82);  // half way, goes up to even
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::numeric_limits<float>::quiet_NaN()))));
}

TEST(DType, NamesOfSafetensors) {
  EXPECT_EQ(dtype_from_safetensors("BF16"), DType::kBF16);
  EXPECT_EQ(dtype_from_safetensors("U32"), DType::kU32);
  EXPECT_EQ(dtype_from_safetensors("F4"), std::nullopt);
  EXPECT_EQ(size_bytes(DType::kU32), 4u);
}

}  // namespace
}  // namespace motley::tensor

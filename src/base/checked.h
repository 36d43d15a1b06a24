// Arithmetic on sizes that came from outside: the result, or nullopt when it is no size that a file can have (2^63 and
// up).
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace motley {

constexpr uint64_t kMaxSize = (uint64_t{1} << 63) - 1;

inline std::optional<uint64_t> checked_add(uint64_t a, uint64_t b) {
  uint64_t sum = 0;
  if (__builtin_add_overflow(a, b, &sum) || sum > kMaxSize) return std::nullopt;
  return sum;
}

inline std::optional<uint64_t> checked_multiply(uint64_t a, uint64_t b) {
  uint64_t product = 0;
  if (__builtin_mul_overflow(a, b, &product) || product > kMaxSize) return std::nullopt;
  return product;
}

// Product of all factors; 1 when there are none.
inline std::optional<uint64_t> checked_product(std::span<const uint64_t> factors) {
  std::optional<uint64_t> product = 1;
  for (const uint64_t factor : factors)
    if (product) product = checked_multiply(*product, factor);
  return product;
}

// The next multiple of `alignment`, which is not zero.
inline std::optional<uint64_t> checked_align_up(uint64_t value, uint64_t alignment) {
  const uint64_t rest = value % alignment;
  return rest == 0 ? checked_add(value, 0) : checked_add(value, alignment - rest);
}

}  // namespace motley

// The codes of activations as two int8 each, for instructions that multiply bytes: code = 128 * high + low. Not a
// public header of the module.
#pragma once

#include <vector>

#include "kernels/table.h"

namespace motley::kernels {

inline constexpr uint32_t kPlanes = 2;
inline constexpr int kPlaneShift = 7;  // sum over codes = (sum over high << kPlaneShift) + sum over low

// [T][kPlanes][K]: a token's high parts, then its low ones. high is within +-127, low within [-64, 63].
std::vector<int8_t> int8_planes(const QuantizedRows& x, uint64_t cols);

}  // namespace motley::kernels

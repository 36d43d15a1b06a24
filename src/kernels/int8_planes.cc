#include "kernels/int8_planes.h"

namespace motley::kernels {

std::vector<int8_t> int8_planes(const QuantizedRows& x, uint64_t cols) {
  constexpr int kHalf = 1 << (kPlaneShift - 1);
  std::vector<int8_t> planes(x.tokens * kPlanes * cols);
  for (uint32_t token = 0; token < x.tokens; ++token) {
    const int16_t* codes = x.codes + token * x.stride;
    int8_t* high = planes.data() + token * kPlanes * cols;
    int8_t* low = high + cols;
    for (uint64_t k = 0; k < cols; ++k) {
      const int upper = (codes[k] + kHalf) >> kPlaneShift;
      high[k] = static_cast<int8_t>(upper);
      low[k] = static_cast<int8_t>(codes[k] - upper * (1 << kPlaneShift));
    }
  }
  return planes;
}

}  // namespace motley::kernels

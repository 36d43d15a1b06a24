// Pieces of the scalar table that live in files of their own, and the constants that its definitions share with the
// other sets. Not a public header of the module.
#pragma once

#include "kernels/table.h"

namespace motley::kernels {

// A group whose largest magnitude is below this counts as silent: its reciprocal scale would not be finite.
inline constexpr float kSmallestActivation = 0x1p-100f;

// lane l += lane l+8 for l < 8, then l+4, l+2, l+1; lane 0 is the result.
float reduce16(const float* lanes);

namespace scalar {

void matmul_exact(const PanelMatrix& w, const FloatRows& x, PanelRange panels, const OutputRows& y);
void matmul_fast(const PanelMatrix& w, const QuantizedRows& x, PanelRange panels, const OutputRows& y);
void attention(const AttentionArgs& args);

}  // namespace scalar
}  // namespace motley::kernels

// The tables that are compared with the scalar one: those that this processor runs and, on x86, the AVX-512 one
// compiled a second time onto SIMDe's portable intrinsics.
#pragma once

#include <vector>

#include "kernels/table.h"

namespace motley::kernels {

std::vector<const KernelTable*> tables_under_test();

}  // namespace motley::kernels

// The tables that are compared with the scalar one: those that this processor runs and, on x86, the AVX-512 one
// compiled a second time onto SIMDe's portable intrinsics. The scalar table is among them, so that the suites are never
// empty.
#pragma once

#include <vector>

#include "kernels/table.h"

namespace motley::kernels {

std::vector<const KernelTable*> tables_under_test();

}  // namespace motley::kernels

// What an instruction set's file offers and how the rows are found. Only kernels and its tests include this.
#pragma once

#include "kernels/table.h"

namespace motley::kernels {

// One function a row of tables.def: a table whose empty slots (null) come from the row below it.
#define MOTLEY_KERNEL_TABLE(set) KernelTable set##_table();
#include "kernels/tables.def"
#undef MOTLEY_KERNEL_TABLE

// `upper` with every null slot taken from `lower`.
KernelTable inherit(const KernelTable& upper, const KernelTable& lower);

}  // namespace motley::kernels

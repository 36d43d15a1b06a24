#include "kernels/tables.h"
namespace motley::kernels {
namespace {
bool supported() { return __builtin_cpu_supports("avx2"); }
}  // namespace
KernelTable avx2_table() {
  KernelTable t;
  t.name = "avx2";
  t.supported = supported;
  return t;
}
}  // namespace motley::kernels

#include "kernels/tables.h"
namespace motley::kernels {
namespace {
bool supported() { return false; }
}  // namespace
KernelTable avx512_vnni_table() {
  KernelTable t;
  t.name = "avx512_vnni";
  t.supported = supported;
  return t;
}
}  // namespace motley::kernels

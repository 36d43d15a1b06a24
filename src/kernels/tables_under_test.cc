#include "kernels/tables_under_test.h"

#include "kernels/tables.h"

namespace motley::kernels {

#if defined(MOTLEY_TEST_SIMDE)
KernelTable avx512_vnni_simde_table();
#endif

std::vector<const KernelTable*> tables_under_test() {
  std::vector<const KernelTable*> tables;
  for (const KernelTable* table : all_tables())
    if (table->supported() && table != all_tables().front()) tables.push_back(table);
#if defined(MOTLEY_TEST_SIMDE)
  static const KernelTable simde = [] {
    KernelTable table = inherit(avx512_vnni_simde_table(), *all_tables().front());
    table.name = "avx512_vnni_simde";
    return table;
  }();
  tables.push_back(&simde);
#endif
  return tables;
}

}  // namespace motley::kernels

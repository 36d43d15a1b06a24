#include "kernels/tables_under_test.h"

namespace motley::kernels {

std::vector<const KernelTable*> tables_under_test() {
  std::vector<const KernelTable*> tables;
  for (const KernelTable* table : all_tables())
    if (table->supported()) tables.push_back(table);
  return tables;
}

}  // namespace motley::kernels

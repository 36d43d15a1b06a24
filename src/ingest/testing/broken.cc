#include "ingest/testing/broken.h"

#include <iterator>

namespace motley::ingest::testing {

std::vector<BrokenInput> broken_inputs() {
  std::vector<BrokenInput> all;
  for (auto* part :
       {broken_gguf, broken_gguf_text, broken_safetensors, broken_shards, broken_mlx, broken_mlx_float, broken_packings,
        broken_methods, broken_configurations, broken_llama2c, broken_text, broken_zip, broken_pickle, broken_torch,
        broken_torch_legacy, broken_npz, broken_meta, broken_llama2c_header}) {
    auto rows = part();
    std::move(rows.begin(), rows.end(), std::back_inserter(all));
  }
  return all;
}

}  // namespace motley::ingest::testing

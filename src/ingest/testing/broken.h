// Inputs with one fault each, and the check that must name it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ingest/load.h"
#include "ingest/testing/drafts.h"

namespace motley::ingest::testing {

struct BrokenInput {
  std::string what;
  std::string site;
  std::function<Files()> files;
  std::string focus;  // the file that the person named; empty for the folder
  LoadOptions options;
};

// One file of rows for each part of the loader.
std::vector<BrokenInput> broken_gguf();
std::vector<BrokenInput> broken_gguf_text();
std::vector<BrokenInput> broken_safetensors();
std::vector<BrokenInput> broken_shards();
std::vector<BrokenInput> broken_mlx();
std::vector<BrokenInput> broken_mlx_float();
std::vector<BrokenInput> broken_packings();
std::vector<BrokenInput> broken_methods();
std::vector<BrokenInput> broken_configurations();
std::vector<BrokenInput> broken_llama2c();
std::vector<BrokenInput> broken_text();
std::vector<BrokenInput> broken_zip();
std::vector<BrokenInput> broken_pickle();
std::vector<BrokenInput> broken_torch();
std::vector<BrokenInput> broken_torch_legacy();
std::vector<BrokenInput> broken_npz();
std::vector<BrokenInput> broken_meta();
std::vector<BrokenInput> broken_llama2c_header();

// All of them.
std::vector<BrokenInput> broken_inputs();

}  // namespace motley::ingest::testing

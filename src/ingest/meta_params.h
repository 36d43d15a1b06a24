// params.json, which Meta and Mistral publish beside weights in their own layout.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/json.h"
#include "base/status.h"
#include "ingest/container.h"
#include "ingest/file_set.h"

namespace motley::ingest {

constexpr std::string_view kParamsName = "params.json";

// params.json as the metadata of `container`, with config.json under its name where that lies beside (it knows what
// params.json leaves out), and the text files. Rejects ("meta.params_missing") a folder without it.
Status read_meta_files(const FileSet& files, Container& container);

}  // namespace motley::ingest

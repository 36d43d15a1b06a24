// The header of one safetensors file. Layout: docs/formats.md.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

inline constexpr std::string_view kSafetensorsExtension = ".safetensors";

// Appends the file's tensors to `out`.
Status read_safetensors(const std::shared_ptr<const ByteSource>& source, std::vector<Tensor>& out);

}  // namespace motley::ingest

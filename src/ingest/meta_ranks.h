// The ranks of a checkpoint that Meta split for model parallelism: each file has a slice of every matrix. Here they
// become whole tensors again, without a copy.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

// The file's name without its folder.
std::string plain_name(const ByteSource& source);

// N of "consolidated.NN.pth"; nullopt for other names.
std::optional<uint32_t> rank_of(std::string_view name);

// Tensors over all ranks, in the order of rank 0. `hidden` (the key dim) tells along which axis the embedding was cut.
// Rejects ("meta.*") ranks whose tensors do not fit together. One rank is returned as it is.
StatusOr<std::vector<Tensor>> join_ranks(std::vector<std::vector<Tensor>> ranks, uint64_t hidden);

}  // namespace motley::ingest

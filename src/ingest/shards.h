// Which files of a folder make up one checkpoint in Hugging Face's layout.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

// How a kind names its shards and the index beside them.
struct ShardNames {
  std::string_view extension;  // with its dot
  std::string_view index;
};

// Mistral publishes its own layout of the same weights under this name, often beside Hugging Face's.
bool is_consolidated(std::string_view name);

// File names in order. Uses the index when every file it names is there; an index that names absent files is stale, and
// the files that are there are taken instead (whether they are complete shows when every weight is looked for). Adds a
// note for what was left aside. A shard that was named alone brings its siblings; missing ones are refused by name.
StatusOr<std::vector<std::string>> choose_shards(const Found& found, const ShardNames& kind,
                                                 std::vector<std::string>& notes);

}  // namespace motley::ingest

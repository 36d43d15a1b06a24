// Which safetensors files of a folder make up one checkpoint.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

// File names in order. Uses the index when every file it names is there; an index that names absent files is stale, and
// the files that are there are taken instead (whether they are complete shows when every weight is looked for). Adds a
// note for what was left aside. A shard that was named alone brings its siblings; missing ones are refused by name.
StatusOr<std::vector<std::string>> choose_shards(const Found& found, std::vector<std::string>& notes);

}  // namespace motley::ingest

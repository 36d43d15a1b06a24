// The one entrance of checkpoints: from a path to a validated Model, or to one error that says what is wrong and where.
// Reads headers and text only; weights stay in their files.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "ingest/file_set.h"
#include "model/model.h"

namespace motley::ingest {

struct LoadOptions {
  std::vector<std::string> overrides;             // KEY=VALUE, as model::override_key() knows them
  std::optional<std::string> chat_template_file;  // its contents replace the default template
};

// `path` is a file, or a folder with one checkpoint in it. Every tensor was used or is listed as ignored with its
// reason; every weight that the spec needs is there in its shape. Safe on any bytes. Threads: any.
StatusOr<model::Model> load(const std::string& path, const LoadOptions& options);

// Same, from a set of files: `focus` is one of them, or empty for the only checkpoint there.
StatusOr<model::Model> load_from(const FileSet& files, const std::string& focus, const LoadOptions& options);

}  // namespace motley::ingest

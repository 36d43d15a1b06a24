// The files that lie together with a checkpoint, by name: a folder on disk, parts in memory, later a repository
// elsewhere.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/json.h"
#include "base/status.h"

namespace motley::ingest {

// Threads: one. Lifetime: sources that were opened outlive the set.
class FileSet {
 public:
  virtual ~FileSet() = default;
  virtual const std::string& name() const = 0;  // the folder, for errors
  // Plain names, sorted.
  virtual StatusOr<std::vector<std::string>> names() const = 0;
  // NotFound when there is no such file.
  virtual StatusOr<std::shared_ptr<const ByteSource>> open(std::string_view file) const = 0;
};

std::unique_ptr<FileSet> local_folder(std::string path);
std::unique_ptr<FileSet> memory_files(std::string name,
                                      std::map<std::string, std::vector<std::byte>, std::less<>> files);

// The whole of a text file, at most `budget_bytes`; nullopt when there is no such file.
StatusOr<std::optional<std::string>> read_text_if_present(const FileSet& files, std::string_view file,
                                                          uint64_t budget_bytes);

// Same, parsed.
StatusOr<std::optional<Json>> read_json_if_present(const FileSet& files, std::string_view file, uint64_t budget_bytes);

}  // namespace motley::ingest

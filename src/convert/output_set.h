// The files of a target, which appear under their names only when all are complete: one file is written beside its name
// and renamed, several in a folder beside the target's, which is renamed. Whatever happens before, nothing is left and
// what was there stays.
#pragma once

#include <cstdio>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "convert/plan.h"

namespace motley::convert {

enum class Existing : uint8_t { kRefuse, kReplace };

// Threads: one.
class OutputSet {
 public:
  // InvalidArgument ("convert.exists") when something is at `path` and it is not to be replaced.
  static StatusOr<std::unique_ptr<OutputSet>> create(const std::string& path, const Plan& plan, Existing existing);
  ~OutputSet();
  OutputSet(const OutputSet&) = delete;
  OutputSet& operator=(const OutputSet&) = delete;

  Status write(Place place, std::span<const std::byte> bytes);
  Status finish();

 private:
  struct File {
    std::string name;
    std::FILE* file = nullptr;
  };

  OutputSet(std::string path, TargetShape shape);
  Status open(const PlannedFile& file);
  Status close_all();
  Status move_into_place();

  std::string path_, partial_path_;
  TargetShape shape_;
  std::vector<File> files_;
  bool finished_ = false;
};

// What create() refuses, for looking before a long dry run.
Status check_free(const std::string& path, Existing existing);

}  // namespace motley::convert

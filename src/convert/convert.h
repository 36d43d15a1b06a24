// The one entrance of conversions: a model that was loaded, a target by its name, and where it is to lie.
#pragma once

#include <string>

#include "convert/execute.h"
#include "convert/target.h"

namespace motley::convert {

struct Request {
  std::string path;
  std::string target;
  Options options = {};
  Existing existing = Existing::kRefuse;
  bool require_exact = false;  // fails before anything is written
  uint32_t threads = 1;
};

struct Report {
  TargetShape shape = TargetShape::kFolder;
  std::vector<std::string> files = {};
  uint64_t bytes = 0;
  std::vector<WeightReport> weights = {};
  std::vector<std::string> notes = {};
};

// Errors: what load() or a plan refuses, FailedPrecondition for a weight that is not exact under `require_exact`, what
// the system says of a file. Nothing is left at the target then, and what was there stays. Threads: any.
StatusOr<Report> convert(const model::Model& model, const Request& request, const OnProgress& on_progress);

}  // namespace motley::convert

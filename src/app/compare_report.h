// What `motley compare` says of two sides: for people and as JSON.
#pragma once

#include <string>
#include <vector>

#include "app/compare_statistics.h"
#include "app/compare_text.h"
#include "base/json.h"
#include "base/status.h"
#include "exec/runner.h"

namespace motley::app {

struct ComparedSide {
  std::string path;
  std::vector<std::string> overrides;
  exec::Facts facts;
};

struct Comparison {
  ComparedSide a, b;
  ComparedText text;
  std::vector<PositionDifference> positions;  // of all windows, one after the other
  DifferenceSummary summary;
};

// One object; docs/commands.md lists its members. Errors are the tokenizer's.
StatusOr<Json> compare_json(const Comparison& comparison);
StatusOr<std::string> compare_report(const Comparison& comparison);

}  // namespace motley::app

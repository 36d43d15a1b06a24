// What `motley convert` says when it is done: as lines for a person, as JSON for a program.
#pragma once

#include <string>

#include "base/json.h"
#include "convert/convert.h"

namespace motley::app {

struct Converted {
  std::string source, target, path;
  convert::Report report;
};

Json convert_json(const Converted& converted);
// One line for each pair of formats and a summary; `tensors`: a line for each tensor before them.
std::string convert_report(const Converted& converted, bool tensors);

}  // namespace motley::app

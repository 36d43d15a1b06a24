// `motley inspect --trace` and `--check` for people: the JSON of ingest/trace.h and ingest/number_check.h as aligned
// lines.
#pragma once

#include <string>

#include "base/json.h"

namespace motley::app {

std::string trace_report(const Json& trace);
std::string number_check_report(const Json& check);

}  // namespace motley::app

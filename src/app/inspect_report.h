// `motley inspect` for people: the JSON of ingest/describe.h as an aligned report.
#pragma once

#include <string>

#include "base/json.h"

namespace motley::app {

std::string inspect_report(const Json& description);

}  // namespace motley::app

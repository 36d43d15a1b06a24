// Where something was said, for people who know which model they run.
#pragma once

#include <string>
#include <string_view>

namespace motley::app {

// `source` names a file of the model at `path` (and perhaps a key in it); the folder that everybody knows is left out.
std::string short_source(std::string_view source, std::string_view path);

}  // namespace motley::app

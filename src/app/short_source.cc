#include "app/short_source.h"

namespace motley::app {

std::string short_source(std::string_view source, std::string_view path) {
  if (!source.starts_with(path)) return std::string(source);
  std::string_view rest = source.substr(path.size());
  if (rest.starts_with('/')) return std::string(rest.substr(1));  // `path` is a folder
  if (rest.starts_with(" key ")) return std::string(rest.substr(5));
  const size_t slash = path.rfind('/');
  return std::string(source.substr(slash == std::string_view::npos ? 0 : slash + 1));
}

}  // namespace motley::app

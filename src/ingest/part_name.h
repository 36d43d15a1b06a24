// Names of the files of a checkpoint in parts: "PREFIX-00002-of-00005.EXTENSION".
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace motley::ingest {

struct PartName {
  std::string prefix;
  uint32_t number = 0;  // from 1
  uint32_t count = 0;

  // nullopt when `name` is no such name. `extension` with its dot.
  static std::optional<PartName> parse(std::string_view name, std::string_view extension);
  std::string text(std::string_view extension) const;
};

}  // namespace motley::ingest

#include "arch/architecture.h"

#include <array>

#include "absl/strings/str_join.h"

namespace motley::arch {

#define MOTLEY_ARCHITECTURE(identifier) Architecture identifier();
#include "arch/architectures.def"
#undef MOTLEY_ARCHITECTURE

namespace {

// Longest first: each is tried once.
constexpr std::array<std::string_view, 4> kHuggingFaceWrappers = {"model.language_model.", "language_model.model.",
                                                                  "language_model.", "model."};

std::string name_in(const Metadata& metadata) {
  const Json* name =
      metadata.tree.find_value(metadata.dialect == Dialect::kHuggingFace ? "model_type" : "general.architecture");
  if (name == nullptr) return "no name for it";
  const std::string* text = name->as_string();
  return text != nullptr ? fmt::format("\"{}\"", *text) : fmt::format("a {}", name->kind_name());
}

std::string known_names() {
  return absl::StrJoin(architectures(), ", ", [](std::string* out, const Architecture& row) { out->append(row.name); });
}

}  // namespace

std::span<const Architecture> architectures() {
  static const std::array rows = {
#define MOTLEY_ARCHITECTURE(identifier) identifier(),
#include "arch/architectures.def"
#undef MOTLEY_ARCHITECTURE
  };
  return rows;
}

StatusOr<const Architecture*> find_architecture(const Metadata& metadata) {
  for (const Architecture& row : architectures())
    if (row.matches(metadata)) return &row;
  return reject({.site = "arch.unknown",
                 .where = metadata.file,
                 .expected = fmt::format("an architecture of a family that motley runs ({})", known_names()),
                 .got = name_in(metadata)});
}

std::string_view canonical_name(Dialect dialect, std::string_view name) {
  if (dialect != Dialect::kHuggingFace) return name;
  for (const std::string_view wrapper : kHuggingFaceWrappers)
    if (name.starts_with(wrapper)) return name.substr(wrapper.size());
  return name;
}

bool glob_matches(std::string_view pattern, std::string_view text) {
  const size_t star = pattern.find('*');
  if (star == std::string_view::npos) return pattern == text;
  if (!text.starts_with(pattern.substr(0, star))) return false;
  const std::string_view rest = pattern.substr(star + 1);
  for (size_t i = star; i <= text.size(); ++i)
    if (glob_matches(rest, text.substr(i))) return true;
  return false;
}

}  // namespace motley::arch

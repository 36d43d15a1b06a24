#include "ingest/container.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <set>

#include "absl/strings/str_join.h"
#include "ingest/layout.h"

namespace motley::ingest {
namespace containers {
#define MOTLEY_CONTAINER(identifier) ContainerKind identifier();
#include "ingest/containers.def"
#undef MOTLEY_CONTAINER
}  // namespace containers

namespace {

// Formats that can be told by their first bytes and that motley does not read.
struct ForeignMagic {
  std::string_view magic;
  std::string_view name;
};
constexpr std::array kForeign = {
    ForeignMagic{"PK\x03\x04", "a zip archive without the name of one that holds weights"},
    ForeignMagic{"\x80\x02", "a pickle without the name of one that holds weights"},
    ForeignMagic{"GPT-OSS v1.0", "OpenAI's Metal format"},
    ForeignMagic{"lmgg", "GGML (before GGUF)"},
    ForeignMagic{"tjgg", "GGJT (before GGUF)"},
    ForeignMagic{"\x89HDF", "HDF5"},
    ForeignMagic{"\x93NUMPY", "a NumPy array"},
};
constexpr size_t kShownBytes = 8;

std::string first_bytes(const ByteSource& source) {
  std::string bytes(std::min<uint64_t>(source.size_bytes(), 16), '\0');
  if (!source.read(0, std::as_writable_bytes(std::span(bytes))).ok()) bytes.clear();
  return bytes;
}

std::string describe_unknown(const ByteSource& source) {
  const std::string bytes = first_bytes(source);
  for (const ForeignMagic& row : kForeign)
    if (bytes.starts_with(row.magic)) return std::string(row.name);
  std::string hex;
  for (const char c : bytes.substr(0, kShownBytes)) hex += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  return fmt::format("{} bytes that begin with{}", source.size_bytes(), hex.empty() ? " nothing" : hex);
}

// The first file of a format that can be named, for folders without anything that can be read.
std::string describe_folder(const FileSet& files) {
  const auto names = files.names();
  for (const std::string& name : names.ok() ? *names : std::vector<std::string>()) {
    const auto source = files.open(name);
    const std::string bytes = source.ok() ? first_bytes(**source) : "";
    for (const ForeignMagic& row : kForeign)
      if (bytes.starts_with(row.magic)) return fmt::format("{}, which is {}", name, row.name);
  }
  return "none in it";
}

std::string kind_names() {
  return absl::StrJoin(container_kinds(), ", ",
                       [](std::string* out, const ContainerKind& kind) { out->append(kind.name); });
}

struct Claimed {
  const ContainerKind* kind = nullptr;
  Claim claim = Claim::kNo;
};

// The kind that is surest about a file; the first of equals.
Claimed best_claim(const ByteSource& source) {
  Claimed best;
  for (const ContainerKind& kind : container_kinds())
    if (const Claim claim = kind.claim(source); claim > best.claim) best = {&kind, claim};
  return best;
}

StatusOr<Container> open_one(const FileSet& files, const std::string& name) {
  TRY(const auto source, files.open(name));
  const Claimed best = best_claim(*source);
  if (best.kind == nullptr)
    return reject({.site = "container.unknown",
                   .where = source->name(),
                   .expected = fmt::format("one of {}", kind_names()),
                   .got = describe_unknown(*source)});
  return best.kind->open({.files = &files, .named = true, .names = {name}});
}

using Claims = std::vector<std::pair<const ContainerKind*, std::vector<std::string>>>;

// Files of a folder by the kind that claims them; kinds without a sure claim only when no kind has one.
StatusOr<Claims> claims_in(const FileSet& files) {
  std::map<const ContainerKind*, std::vector<std::string>> names;
  std::map<const ContainerKind*, Claim> surest;
  Claim best = Claim::kNo;
  TRY(const auto all, files.names());
  for (const std::string& name : all) {
    const auto source = files.open(name);
    if (!source.ok())
      continue;  // a file that cannot be read holds no weights for us; if it should, it will be missed by name
    const Claimed claimed = best_claim(**source);
    if (claimed.kind == nullptr) continue;
    names[claimed.kind].push_back(name);
    surest[claimed.kind] = std::max(surest[claimed.kind], claimed.claim);
    best = std::max(best, claimed.claim);
  }
  Claims result;
  for (auto& [kind, files_of_kind] : names)
    if (surest[kind] == best) result.emplace_back(kind, std::move(files_of_kind));
  return result;
}

}  // namespace

std::span<const ContainerKind> container_kinds() {
  static const std::array rows = {
#define MOTLEY_CONTAINER(identifier) containers::identifier(),
#include "ingest/containers.def"
#undef MOTLEY_CONTAINER
  };
  return rows;
}

namespace {

// Takes out the kinds that yield to another one here, with a note for their files.
void yield(Claims& claims, std::vector<std::string>& notes) {
  std::set<std::string_view> there;
  for (const auto& [kind, names] : claims) there.insert(kind->name);
  std::erase_if(claims, [&](const auto& claim) {
    const std::string_view preferred = claim.first->yields_to;
    if (preferred.empty() || !there.contains(preferred)) return false;
    notes.push_back(fmt::format("left aside: {} ({} is preferred)", absl::StrJoin(claim.second, ", "), preferred));
    return true;
  });
}

StatusOr<Container> open_any(const FileSet& files, const std::string& focus) {
  if (!focus.empty()) return open_one(files, focus);
  TRY(Claims claims, claims_in(files));
  std::vector<std::string> notes;
  yield(claims, notes);
  REJECT_IF(claims.size() > 1, "container.ambiguous", files.name(), "one checkpoint (name its file to choose)",
            absl::StrJoin(claims, " and ", [](std::string* out, const auto& claim) {
              out->append(fmt::format("{} ({})", absl::StrJoin(claim.second, ", "), claim.first->name));
            }));
  if (claims.empty())
    return reject({.site = "container.none",
                   .where = files.name(),
                   .expected = fmt::format("a folder with a checkpoint ({})", kind_names()),
                   .got = describe_folder(files)});
  TRY(Container container,
      claims.front().first->open({.files = &files, .named = false, .names = claims.front().second}));
  container.notes.insert(container.notes.begin(), notes.begin(), notes.end());
  return container;
}

}  // namespace

StatusOr<Container> open_container(const FileSet& files, const std::string& focus) {
  TRY(Container container, open_any(files, focus));
  TRY(check_tensors(container.tensors));
  return container;
}

}  // namespace motley::ingest

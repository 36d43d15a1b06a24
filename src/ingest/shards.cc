#include "ingest/shards.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_join.h"
#include "ingest/part_name.h"

namespace motley::ingest {
namespace {

constexpr uint64_t kIndexBudgetBytes = 32 << 20;  // largest published (DeepSeek V3, 91 thousand tensors): 9 MB

// Adapters lie beside the weights they belong to; they are no part of them.
bool is_adapter(const std::string& name) { return name.starts_with("adapter"); }

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find('/') == std::string::npos && name.find('\\') == std::string::npos && name != "..";
}

StatusOr<std::set<std::string>> names_in_index(const std::string& where, const Json& index) {
  const Json* map = index.find("weight_map");
  const Json::Object* object = map == nullptr ? nullptr : map->as_object();
  REJECT_IF(object == nullptr, "shards.weight_map", where, "an object weight_map", "none");
  std::set<std::string> names;
  const Json::Object none;
  for (const auto& [tensor, file] : object == nullptr ? none : *object) {
    const std::string* name = file.as_string();
    REJECT_IF(name == nullptr || !is_plain_name(*name), "shards.index_name", where, "names of files in the same folder",
              file.dump());
    if (name != nullptr) names.insert(*name);
  }
  return names;
}

// Every part that the names themselves promise must be there.
Status check_complete(const std::string& folder, const std::vector<std::string>& names, std::string_view extension) {
  for (const std::string& name : names) {
    const auto part = PartName::parse(name, extension);
    for (uint32_t number = 1; part && number <= part->count; ++number) {
      const std::string sibling = PartName{part->prefix, number, part->count}.text(extension);
      REJECT_IF(std::find(names.begin(), names.end(), sibling) == names.end(), "shards.missing", folder,
                fmt::format("all {} parts that {} belongs to", part->count, name), fmt::format("no {}", sibling));
    }
  }
  return absl::OkStatus();
}

std::vector<std::string> weights_among(const std::vector<std::string>& names, std::vector<std::string>& notes) {
  std::vector<std::string> chosen, aside;
  for (const std::string& name : names) (is_consolidated(name) || is_adapter(name) ? aside : chosen).push_back(name);
  if (chosen.empty()) std::swap(chosen, aside);
  if (!aside.empty()) notes.push_back(fmt::format("left aside: {}", absl::StrJoin(aside, ", ")));
  return chosen;
}

StatusOr<std::vector<std::string>> without_index(const Found& found, std::string_view extension,
                                                 std::vector<std::string>& notes) {
  std::vector<std::string> names = weights_among(found.names, notes);
  TRY(check_complete(found.files->name(), names, extension));
  return names;
}

// A file that the person named: alone, or as one shard of its set.
StatusOr<std::vector<std::string>> named_file(const Found& found, std::string_view extension) {
  const auto part = PartName::parse(found.names.front(), extension);
  std::vector<std::string> names;
  for (uint32_t number = 1; part && number <= part->count; ++number) {
    const std::string name = PartName{part->prefix, number, part->count}.text(extension);
    const auto source = found.files->open(name);
    REJECT_IF(absl::IsNotFound(source.status()), "shards.sibling_missing", found.files->name(),
              fmt::format("all {} parts of a checkpoint in shards", part->count), fmt::format("no {}", name));
    TRY(source.status());
    names.push_back(name);
  }
  return names.empty() ? found.names : names;
}

}  // namespace

bool is_consolidated(std::string_view name) { return name.starts_with("consolidated"); }

StatusOr<std::vector<std::string>> choose_shards(const Found& found, const ShardNames& kind,
                                                 std::vector<std::string>& notes) {
  if (found.named) return named_file(found, kind.extension);
  TRY(const auto index, read_json_if_present(*found.files, kind.index, kIndexBudgetBytes));
  if (!index) return without_index(found, kind.extension, notes);
  TRY(const std::set<std::string> indexed,
      names_in_index(fmt::format("{}/{}", found.files->name(), kind.index), *index));
  std::vector<std::string> absent;
  for (const std::string& name : indexed)
    if (!found.files->open(name).ok()) absent.push_back(name);
  if (absent.empty()) {
    for (const std::string& name : found.names)
      if (!indexed.contains(name)) notes.push_back(fmt::format("left aside: {}, which the index does not name", name));
    return std::vector<std::string>(indexed.begin(), indexed.end());
  }
  notes.push_back(fmt::format("{} is stale: it names {} that {} absent; the files that are there were taken instead",
                              kind.index, absl::StrJoin(absent, ", "), absent.size() == 1 ? "is" : "are"));
  return without_index(found, kind.extension, notes);
}

}  // namespace motley::ingest

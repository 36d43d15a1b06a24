// Checkpoints as Meta publishes them: consolidated.NN.pth, one file a rank of model parallelism, and params.json.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "ingest/container.h"
#include "ingest/hugging_face_text.h"
#include "ingest/meta_ranks.h"
#include "ingest/torch_file.h"

namespace motley::ingest::containers {
namespace {

constexpr std::string_view kParams = "params.json", kConfig = "config.json";
constexpr uint64_t kParamsBudgetBytes = 1 << 20;  // published: 200 bytes

Claim claim(const ByteSource& source) {
  if (!rank_of(plain_name(source))) return Claim::kNo;
  return begins_like_torch(source) ? Claim::kYes : Claim::kMaybe;
}

// All ranks in the folder, also when the person named one of them.
StatusOr<std::vector<std::string>> choose_ranks(const Found& found) {
  std::vector<std::string> names = found.names;
  if (found.named) {
    TRY(names, found.files->names());
    std::erase_if(names, [](const std::string& name) { return !rank_of(name); });
  }
  for (size_t rank = 0; rank < names.size(); ++rank)
    REJECT_IF(rank_of(names[rank]) != rank, "meta.rank_missing", found.files->name(),
              fmt::format("ranks from 00 to {:02}", names.size() - 1), absl::StrJoin(names, ", "));
  return names;
}

// The keys that say what is computed; some files hold them one level deeper. config.json beside them is kept under its
// name: it knows what params.json leaves out.
StatusOr<Json> read_params(const FileSet& files) {
  TRY(const auto params, read_json_if_present(files, kParams, kParamsBudgetBytes));
  REJECT_IF(!params, "meta.params_missing", fmt::format("{}/{}", files.name(), kParams),
            "the parameters of the network", "no such file");
  const Json outer = params.value_or(Json());
  const Json* inner = outer.find_value("model");
  Json tree = inner != nullptr && inner->as_object() != nullptr ? *inner : outer;
  TRY(auto config, read_json_if_present(files, kConfig, kParamsBudgetBytes));
  if (config) tree.set(std::string(kConfig), *std::move(config));
  return tree;
}

uint64_t number_of(const Json& tree, std::string_view key) {
  const Json* value = tree.find_value(key);
  return value == nullptr ? 0 : value->as_uint().value_or(0);
}

// Where there are more ranks than KV heads, each head lies in several of them.
Status check_kv_heads(const Json& tree, size_t ranks, const std::string& file) {
  const uint64_t heads = number_of(tree, "n_kv_heads");
  REJECT_IF(heads != 0 && heads % ranks != 0, "meta.kv_duplicates", file,
            fmt::format("KV heads that {} ranks share evenly", ranks), fmt::format("n_kv_heads {}", heads));
  return absl::OkStatus();
}

StatusOr<Container> open(const Found& found) {
  Container container;
  TRY(const std::vector<std::string> names, choose_ranks(found));
  container.kind = names.size() == 1 ? "Meta" : fmt::format("Meta, {} ranks", names.size());
  const std::string params_name = fmt::format("{}/{}", found.files->name(), kParams);
  TRY(Json tree, read_params(*found.files));
  TRY(check_kv_heads(tree, names.size(), params_name));
  std::vector<std::vector<Tensor>> ranks;
  for (const std::string& name : names) {
    TRY(const auto source, found.files->open(name));
    container.files.push_back(source->name());
    Attributes unused;  // a rank holds nothing but tensors
    TRY(read_torch(source, ranks.emplace_back(), unused));
  }
  TRY(container.tensors, join_ranks(std::move(ranks), number_of(tree, "dim")));
  container.metadata = {.dialect = arch::Dialect::kMeta, .tree = std::move(tree), .file = params_name};
  TRY(read_hugging_face_text(*found.files, container));
  return container;
}

}  // namespace

ContainerKind meta() { return {.name = "Meta", .claim = claim, .open = open, .yields_to = "safetensors"}; }

}  // namespace motley::ingest::containers

// Checkpoints as Meta publishes them: consolidated.NN.pth, one file a rank of model parallelism, and params.json.
#include <algorithm>

#include "absl/strings/str_join.h"
#include "ingest/container.h"
#include "ingest/layout.h"
#include "ingest/meta_params.h"
#include "ingest/meta_ranks.h"
#include "ingest/torch_file.h"

namespace motley::ingest::containers {
namespace {

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
  TRY(read_meta_files(*found.files, container));
  const arch::Metadata& metadata = container.metadata;
  TRY(check_kv_heads(metadata.tree, names.size(), metadata.file));
  std::vector<std::vector<Tensor>> ranks;
  for (const std::string& name : names) {
    TRY(const auto source, found.files->open(name));
    container.files.push_back(source->name());
    Attributes unused;  // a rank holds nothing but tensors
    TRY(read_torch(source, ranks.emplace_back(), unused));
    TRY(check_tensors(ranks.back()));  // a name twice in one rank would stand for another rank's slice
  }
  TRY(container.tensors, join_ranks(std::move(ranks), number_of(metadata.tree, "dim")));
  return container;
}

}  // namespace

ContainerKind meta() { return {.name = "Meta", .claim = claim, .open = open, .yields_to = "safetensors"}; }

}  // namespace motley::ingest::containers

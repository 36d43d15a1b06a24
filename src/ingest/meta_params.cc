#include "ingest/meta_params.h"

#include "ingest/hugging_face_text.h"

namespace motley::ingest {
namespace {

constexpr std::string_view kConfig = "config.json";
constexpr uint64_t kBudgetBytes = 1 << 20;  // published: 200 bytes, and some thousand for config.json

}  // namespace

Status read_meta_files(const FileSet& files, Container& container) {
  const std::string where = fmt::format("{}/{}", files.name(), kParamsName);
  TRY(const auto params, read_json_if_present(files, kParamsName, kBudgetBytes));
  REJECT_IF(!params, "meta.params_missing", where, "the parameters of the network", "no such file");
  const Json outer = params.value_or(Json());
  const Json* inner = outer.find_value("model");  // some files hold them one level deeper
  Json tree = inner != nullptr && inner->as_object() != nullptr ? *inner : outer;
  TRY(auto config, read_json_if_present(files, kConfig, kBudgetBytes));
  if (config) tree.set(std::string(kConfig), *std::move(config));
  container.metadata = {.dialect = arch::Dialect::kMeta, .tree = std::move(tree), .file = where};
  return read_hugging_face_text(files, container);
}

}  // namespace motley::ingest

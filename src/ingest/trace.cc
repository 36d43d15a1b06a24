#include "ingest/trace.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_join.h"
#include "ingest/describe.h"

namespace motley::ingest {
namespace {

using model::Part;
using model::Role;
using model::Slot;

Json strings(const std::vector<std::string>& items) { return Json(Json::Array(items.begin(), items.end())); }

// Names with how often each occurs, in the order of the names.
class Counts {
 public:
  void add(const std::string& name) { ++counts_[name]; }
  Json json() const {
    Json::Array rows;
    for (const auto& [name, count] : counts_) rows.push_back(Json::Object{{"kind", name}, {"count", count}});
    return Json(std::move(rows));
  }

 private:
  std::map<std::string, uint64_t> counts_;
};

std::string kind_of(const model::SoftmaxAttention& attention) {
  const std::string_view grouping = attention.kv_heads == attention.heads ? "multi-head"
                                    : attention.kv_heads == 1             ? "single-KV"
                                                                          : "grouped-query";
  return fmt::format("{} {} attention", attention.window ? "sliding" : "full", grouping);
}

std::string kind_of(const model::DenseFeedForward& /*dense*/) { return "dense SwiGLU"; }

Json decoder(const model::Spec& spec) {
  Counts mixers, feed_forwards;
  for (const model::Layer& layer : spec.layers) {
    mixers.add(std::visit([](const auto& mixer) { return kind_of(mixer); }, layer.mixer));
    feed_forwards.add(std::visit([](const auto& dense) { return kind_of(dense); }, layer.feed_forward));
  }
  return Json::Object{{"layers", spec.layers.size()},
                      {"mixers", mixers.json()},
                      {"feed_forwards", feed_forwards.json()},
                      {"shared_kv_layers", 0}};
}

Json files(const model::Provenance& provenance) {
  uint64_t bytes = 0;
  for (const model::NativeType& row : provenance.native) bytes += row.bytes;
  return Json::Object{{"path", provenance.path},
                      {"container", provenance.container},
                      {"architecture", provenance.architecture},
                      {"files", strings(provenance.files)},
                      {"shards", provenance.files.size()},
                      {"index", provenance.index},
                      {"tensor_bytes", bytes}};
}

Json tensors(const model::Model& model, const std::optional<NumberCheck>& check) {
  uint64_t count = 0, bytes = 0;
  Json types = Json::Object{};
  for (const model::NativeType& row : model.provenance.native) {
    count += row.tensors;
    bytes += row.bytes;
    types.set(row.type, Json::Object{{"tensors", row.tensors}, {"bytes", row.bytes}});
  }
  return Json::Object{{"native", count},
                      {"bytes", bytes},
                      {"dtypes", types},
                      {"missing", 0},  // a model that misses one is not loaded
                      {"unused", model.provenance.ignored.size()},
                      {"finite_check", check ? to_json(*check) : Json(Json::Object{{"mode", "not done"}})}};
}

std::string tensor_of(const model::Model& model, Part part) {
  const auto found = model.weights.find(Role{.part = part});
  return found == model.weights.end() ? "" : found->second.codes.tensor;
}

Json weights(const model::Model& model, const Json& description) {
  const auto biases = std::count_if(model.weights.begin(), model.weights.end(),
                                    [](const auto& entry) { return entry.first.slot == Slot::kBias; });
  Json result = Json::Object{{"embedding", tensor_of(model, Part::kEmbedding)},
                             {"final_norm", tensor_of(model, Part::kFinalNorm)},
                             {"tied_head", model.spec.head.tied},
                             {"head", tensor_of(model, model.spec.head.tied ? Part::kEmbedding : Part::kHead)},
                             {"biases", biases},
                             {"count", model.weights.size()}};
  if (const Json* storage = description.find_value("storage")) result.set("layouts", *storage);
  return result;
}

Json kv_cache(const model::Spec& spec, const TraceBackend& backend) {
  const uint64_t token = model::kv_bytes_per_token(spec, backend.kv_element_bytes);
  return Json::Object{{"element_bytes", backend.kv_element_bytes},
                      {"bytes_per_token", token},
                      {"context_tokens", spec.context_tokens},
                      {"bytes_at_full_context", token * spec.context_tokens}};
}

// The different formats of the matrices, in the order in which they are met.
std::vector<std::string> formats_of(const model::Model& model) {
  std::vector<std::string> formats;
  for (const auto& [role, weight] : model.weights) {
    const std::string text = tensor::describe(weight.format);
    if (weight.rows > 1 && std::find(formats.begin(), formats.end(), text) == formats.end()) formats.push_back(text);
  }
  return formats;
}

std::string rope_text(const model::Model& model) {
  const auto& attention = std::get<model::SoftmaxAttention>(model.spec.layers.front().mixer);
  if (!attention.rope) return "no rotation of Q and K";
  return fmt::format("rotate {} pairs of Q and K, theta {}",
                     attention.rope->pairs == model::RopePairs::kInterleaved ? "interleaved" : "half-split",
                     attention.rope->theta);
}

// What happens from the file to the first token, in order.
Json actions(const model::Model& model, const TraceBackend& backend, uint64_t native) {
  Json::Array rows;
  const auto add = [&](std::string_view stage, std::string detail) {
    rows.push_back(Json::Object{{"stage", std::string(stage)}, {"detail", std::move(detail)}});
  };
  const model::Provenance& provenance = model.provenance;
  const bool orders = std::any_of(model.weights.begin(), model.weights.end(),
                                  [](const auto& entry) { return entry.second.input_order != nullptr; });
  add("open", fmt::format("{} in {} file{}", provenance.container, provenance.files.size(),
                          provenance.files.size() == 1 ? "" : "s"));
  add("describe", fmt::format("{} with {} layers", provenance.architecture, model.spec.layers.size()));
  add("bind", fmt::format("{} weights from {} tensors: {}", model.weights.size(), native,
                          absl::StrJoin(formats_of(model), "; ")));
  add("account", fmt::format("{} tensors not used, each with its reason", provenance.ignored.size()));
  if (!std::holds_alternative<std::monostate>(model.text.tokenizer))
    add("tokenise", "text to ids with its own tokenizer");
  add("upload", fmt::format("packed weights to {}", backend.name));
  add("embed", fmt::format("{} ids to rows of {}", model.spec.vocabulary, model.spec.hidden));
  add("attend", fmt::format("{} layers: {}{}", model.spec.layers.size(), rope_text(model),
                            orders ? ", inputs in the order of their groups" : ""));
  add("feed forward", fmt::format("{} layers: down(silu(gate(x)) * up(x))", model.spec.layers.size()));
  add("head", model.spec.head.tied ? "the embedding's matrix" : "a matrix of its own");
  add("sample", fmt::format("one of {} tokens, in {} arithmetic", model.spec.vocabulary, backend.arithmetic));
  return Json(std::move(rows));
}

}  // namespace

Json trace(const model::Model& model, const TraceBackend& backend, const std::optional<NumberCheck>& check) {
  const Json description = describe(model, TensorList::kLeaveOut);
  uint64_t native = 0;
  for (const model::NativeType& row : model.provenance.native) native += row.tensors;
  std::vector<std::string> warnings = model.provenance.notes;
  if (check) warnings.insert(warnings.end(), check->findings.begin(), check->findings.end());
  Json result = Json::Object{
      {"model", files(model.provenance)},
      {"backend", Json::Object{{"name", backend.name}, {"ready", backend.ready}, {"arithmetic", backend.arithmetic}}},
      {"decoder", decoder(model.spec)},
      {"tensors", tensors(model, check)},
      {"weights", weights(model, description)},
      {"kv_cache", kv_cache(model.spec, backend)},
      {"actions", actions(model, backend, native)},
      {"warnings", strings(warnings)}};
  const Json* text = description.find_value("text");
  const Json* tokenizer = text == nullptr ? nullptr : text->find_value("tokenizer");
  result.set("tokenizer", tokenizer == nullptr ? Json() : *tokenizer);
  return result;
}

}  // namespace motley::ingest

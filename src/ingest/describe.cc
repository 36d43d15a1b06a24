#include "ingest/describe.h"

#include <algorithm>
#include <map>

#include "ingest/tokenizer_scan.h"

namespace motley::ingest {
namespace {

using model::Part;
using model::Role;
using model::Weight;

Json strings(const std::vector<std::string>& items) { return Json(Json::Array(items.begin(), items.end())); }

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

double bits_per_weight(uint64_t bytes, uint64_t weights) {
  return weights == 0 ? 0 : 8 * static_cast<double>(bytes) / static_cast<double>(weights);
}

// What a role stores, apart from its layer: "attention Q weight".
std::string kind_of(const Role& role) {
  const std::string text = model::describe(role);
  const std::string prefix = fmt::format("layer {} ", role.layer);
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

// The format, and whether the inputs are in an order of the file's own (act-order).
std::string format_of(const Weight& weight) {
  return tensor::describe(weight.format) + (weight.input_order ? ", inputs in the order of their groups" : "");
}

struct Sum {
  uint64_t tensors = 0, weights = 0, bytes = 0;
  void add(const Weight& weight) {
    ++tensors;
    weights += weight.rows * weight.cols;
    bytes += weight.stored_bytes();
  }
};

Json storage(const model::Model& model) {
  std::map<std::pair<Part, std::string>, std::map<std::string, Sum>> sums;
  for (const auto& [role, weight] : model.weights) sums[{role.part, kind_of(role)}][format_of(weight)].add(weight);
  Json::Array rows;
  for (const auto& [role, formats] : sums)
    for (const auto& [format, sum] : formats)
      rows.push_back(Json::Object{{"role", role.second},
                                  {"format", format},
                                  {"tensors", sum.tensors},
                                  {"weights", sum.weights},
                                  {"bytes", sum.bytes},
                                  {"bits_per_weight", bits_per_weight(sum.bytes, sum.weights)}});
  return Json(std::move(rows));
}

Json bytes(const model::Model& model) {
  Sum total;
  uint64_t embedding = 0, head = 0, final_norm = 0;
  std::vector<uint64_t> layers(model.spec.layers.size(), 0);
  for (const auto& [role, weight] : model.weights) {
    total.add(weight);
    uint64_t& place = role.part == Part::kEmbedding   ? embedding
                      : role.part == Part::kHead      ? head
                      : role.part == Part::kFinalNorm ? final_norm
                                                      : layers.at(role.layer);
    place += weight.stored_bytes();
  }
  return Json::Object{{"total", total.bytes},     {"bits_per_weight", bits_per_weight(total.bytes, total.weights)},
                      {"embedding", embedding},   {"head", head},
                      {"final_norm", final_norm}, {"layers", Json(Json::Array(layers.begin(), layers.end()))}};
}

Json tokenizer(const model::TextAssets& text) {
  if (const auto* json = std::get_if<model::TokenizerJson>(&text.tokenizer)) {
    const auto facts = scan_tokenizer(json->json, json->source);
    int64_t highest = facts.ok() ? facts->highest_id.value_or(-1) : -1;
    if (facts.ok())
      for (const auto& [content, id] : facts->added_tokens) highest = std::max(highest, id);
    return Json::Object{{"kind", "tokenizer.json"}, {"vocabulary", highest + 1}, {"source", json->source}};
  }
  const auto* vocabulary = std::get_if<model::Vocabulary>(&text.tokenizer);
  if (vocabulary == nullptr) return Json();
  const bool bpe = vocabulary->kind == model::Vocabulary::Kind::kByteLevelBpe;
  return Json::Object{{"kind", bpe ? "byte-level BPE" : "SentencePiece"},
                      {"vocabulary", vocabulary->tokens.size()},
                      {"source", vocabulary->source}};
}

Json text(const model::TextAssets& assets) {
  Json::Array templates, ends;
  for (const auto& [name, source] : assets.chat_templates) templates.emplace_back(name);
  for (const model::EndToken& end : assets.end_tokens)
    ends.push_back(Json::Object{{"id", end.id}, {"source", end.source}});
  return Json::Object{{"tokenizer", tokenizer(assets)},
                      {"chat_templates", std::move(templates)},
                      {"chat_template_source", assets.chat_template_source},
                      {"bos_token", or_null(assets.bos_token)},
                      {"add_bos", or_null(assets.add_bos)},
                      {"end_tokens", std::move(ends)}};
}

Json generation(const model::GenerationDefaults& defaults) {
  return Json::Object{{"temperature", or_null(defaults.temperature)},
                      {"top_k", or_null(defaults.top_k)},
                      {"top_p", or_null(defaults.top_p)},
                      {"min_p", or_null(defaults.min_p)},
                      {"repetition_penalty", or_null(defaults.repetition_penalty)},
                      {"do_sample", or_null(defaults.do_sample)},
                      {"source", defaults.source}};
}

Json ignored(const model::Provenance& provenance) {
  Json::Array rows;
  for (const model::IgnoredTensor& row : provenance.ignored)
    rows.push_back(Json::Object{{"tensor", row.tensor}, {"file", row.file}, {"reason", row.reason}});
  return Json(std::move(rows));
}

Json tensors(const model::Model& model) {
  Json::Array rows;
  for (const auto& [role, weight] : model.weights)
    rows.push_back(Json::Object{{"role", model::describe(role)},
                                {"tensor", weight.codes.tensor},
                                {"file", weight.codes.source->name()},
                                {"shape", Json::Array{weight.rows, weight.cols}},
                                {"format", format_of(weight)},
                                {"bytes", weight.stored_bytes()}});
  return Json(std::move(rows));
}

}  // namespace

Json describe(const model::Model& model, TensorList tensor_list) {
  const model::Provenance& provenance = model.provenance;
  Json report = Json::Object{{"path", provenance.path},
                             {"container", provenance.container},
                             {"architecture", provenance.architecture},
                             {"files", strings(provenance.files)},
                             {"spec", model::to_json(model.spec)},
                             {"storage", storage(model)},
                             {"bytes", bytes(model)},
                             {"kv_bytes_per_token", Json::Object{{"f16", model::kv_bytes_per_token(model.spec, 2)},
                                                                 {"f32", model::kv_bytes_per_token(model.spec, 4)}}},
                             {"text", text(model.text)},
                             {"generation", generation(model.generation)},
                             {"ignored", ignored(provenance)},
                             {"notes", strings(provenance.notes)},
                             {"overrides", strings(provenance.overrides)}};
  if (tensor_list == TensorList::kInclude) report.set("tensors", tensors(model));
  return report;
}

}  // namespace motley::ingest

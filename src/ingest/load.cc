#include "ingest/load.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "arch/architecture.h"
#include "base/folder.h"
#include "ingest/container.h"
#include "ingest/foreign.h"
#include "ingest/packing.h"
#include "ingest/text_check.h"

namespace motley::ingest {
namespace {

constexpr uint64_t kTemplateBudgetBytes = 16 << 20;

// Numbers for engines that round activations or the KV cache to 8 bits or fewer; both are kept exact here.
constexpr std::string_view kKvScale = "a scale for a KV cache of 8 bits, which is kept wider here";
constexpr std::array kIgnoredOfQuantisers = {
    arch::IgnoreRule{"*.self_attn.k_scale", kKvScale},  arch::IgnoreRule{"*.self_attn.v_scale", kKvScale},
    arch::IgnoreRule{"*.self_attn.q_scale", kKvScale},  arch::IgnoreRule{"*.k_proj.k_scale", kKvScale},
    arch::IgnoreRule{"*.v_proj.v_scale", kKvScale},     arch::IgnoreRule{"*.k_proj.output_scale", kKvScale},
    arch::IgnoreRule{"*.v_proj.output_scale", kKvScale}};

// One checkpoint on its way to a Model.
class Loader {
 public:
  Loader(const Container& container, const TensorIndex& tensors, const arch::Architecture& architecture)
      : container_(container), tensors_(tensors), architecture_(architecture) {}

  StatusOr<model::Model> build(const LoadOptions& options) {
    TRY(arch::Description description, architecture_.describe(container_.metadata, tensors_));
    for (const std::string& name : description.used_tensors) used_.insert(tensors_.find(name));
    model_.spec = std::move(description.spec);
    TRY(apply_overrides(options));
    TRY(model::check(model_.spec, container_.metadata.file));
    TRY(bind_all());
    TRY(account_for_rest());
    fill_provenance(description);
    return std::move(model_);
  }

 private:
  Status apply_overrides(const LoadOptions& options) {
    for (const std::string& text : options.overrides) {
      const size_t equals = text.find('=');
      if (equals == std::string::npos || equals == 0)
        return absl::InvalidArgumentError(fmt::format("override: expected KEY=VALUE, got \"{}\"", text));
      TRY(model::override_key(model_.spec, text.substr(0, equals), text.substr(equals + 1)));
      model_.provenance.overrides.push_back(text);
    }
    return absl::OkStatus();
  }

  // Hugging Face files wrap the canonical names: "model." is in front of all that a configuration speaks of, but the
  // head.
  ModuleName name_of(const std::string& canonical) const {
    const auto first = tensors_.all().lower_bound(canonical + ".");
    if (first == tensors_.all().end() || !first->first.starts_with(canonical + ".")) return {canonical, canonical};
    const std::string& stored = first->second->name;
    return {canonical, stored.substr(0, stored.size() - (first->first.size() - canonical.size()))};
  }

  Status bind(const model::RequiredWeight& required, const PackingClaims& claims) {
    const std::string module_name = architecture_.module_name(container_.metadata.dialect, required.role);
    const bool bias = required.role.slot == model::Slot::kBias;
    const std::string weight_name = fmt::format("{}.{}", module_name, bias ? "bias" : "weight");
    // A layer's bias is a plain vector whatever its matrix is packed in.
    const Module module{bias ? weight_name : module_name, tensors_, container_, tensors_.find(weight_name)};
    PackingClaim claim;
    if (!bias && required.rows != 1) {
      TRY(claim, claims.about(name_of(module_name)));
    }
    TRY(BoundWeight bound, bind_weight(module, required, claim));
    used_.insert(bound.used.begin(), bound.used.end());
    for (const auto& [tensor, reason] : bound.ignored) ignored_.emplace(tensor, reason);
    model_.provenance.notes.insert(model_.provenance.notes.end(), bound.notes.begin(), bound.notes.end());
    model_.weights.emplace(required.role, std::move(bound.weight));
    return absl::OkStatus();
  }

  Status bind_all() {
    TRY(const std::unique_ptr<PackingClaims> claims, read_claims(container_));
    for (const model::RequiredWeight& required : model::required_weights(model_.spec)) TRY(bind(required, *claims));
    return absl::OkStatus();
  }

  // Why a tensor that no weight is made of may be there; nullopt when there is no reason.
  std::optional<std::string> reason_to_ignore(std::string_view name, const Tensor* tensor) const {
    if (const auto found = ignored_.find(tensor); found != ignored_.end()) return std::string(found->second);
    for (const arch::IgnoreRule& rule : kIgnoredOfQuantisers)
      if (arch::glob_matches(rule.pattern, name)) return std::string(rule.reason);
    const arch::IgnoreRule* rule = ignore_rule(name);
    return rule == nullptr ? std::nullopt : std::optional(std::string(rule->reason));
  }

  const arch::IgnoreRule* ignore_rule(std::string_view name) const {
    for (const arch::IgnoreRule& rule : architecture_.ignored)
      if (arch::glob_matches(rule.pattern, name)) return &rule;
    for (const arch::IgnoreRule& rule : architecture_.ignored_when_tied)
      if (model_.spec.head.tied && arch::glob_matches(rule.pattern, name)) return &rule;
    return nullptr;
  }

  Status account_for_rest() {
    for (const auto& [name, tensor] : tensors_.all()) {
      if (used_.contains(tensor)) continue;
      const auto reason = reason_to_ignore(name, tensor);
      REJECT_IF(!reason, "load.unused_tensor", where(*tensor),
                fmt::format("only tensors that a network of the {} family has", architecture_.name),
                "one that it has no use for");
      model_.provenance.ignored.push_back(
          {.tensor = tensor->name, .file = tensor->source->name(), .reason = reason.value_or("")});
    }
    return absl::OkStatus();
  }

  void fill_provenance(const arch::Description& description) {
    model::Provenance& provenance = model_.provenance;
    provenance.container = container_.kind;
    provenance.architecture = architecture_.name;
    provenance.files = container_.files;
    std::map<std::string, model::NativeType> native;
    for (const Tensor& tensor : container_.tensors) {
      model::NativeType& row = native[describe(tensor.type)];
      row.type = describe(tensor.type);
      ++row.tensors;
      row.bytes += tensor.range.size_bytes;
    }
    for (auto& [type, row] : native) provenance.native.push_back(std::move(row));
    // Before the notes of the bindings.
    provenance.notes.insert(provenance.notes.begin(), description.notes.begin(), description.notes.end());
    provenance.notes.insert(provenance.notes.begin(), container_.notes.begin(), container_.notes.end());
  }

  const Container& container_;
  const TensorIndex& tensors_;
  const arch::Architecture& architecture_;
  std::set<const Tensor*> used_;
  std::map<const Tensor*, std::string_view> ignored_;  // by the packings, and why
  model::Model model_;
};

Status replace_template(const std::string& path, model::TextAssets& text) {
  const SplitPath split = split_path(path);
  TRY(auto source, read_text_if_present(*local_folder(split.folder), split.name, kTemplateBudgetBytes));
  if (!source) return absl::NotFoundError(fmt::format("{}: expected a chat template, got no such file", path));
  text.chat_templates["default"] = *std::move(source);
  text.chat_template_source = path;
  return absl::OkStatus();
}

}  // namespace

StatusOr<model::Model> load_from(const FileSet& files, const std::string& focus, const LoadOptions& options) {
  TRY(Container container, open_container(files, focus));
  TRY(refuse_foreign_quantisation(container));
  TRY(const arch::Architecture* architecture, arch::find_architecture(container.metadata));
  TRY(const TensorIndex tensors, TensorIndex::build(container));
  TRY(model::Model model, Loader(container, tensors, *architecture).build(options));
  TRY(check_text(container.text, model.spec.vocabulary, model.provenance.notes));
  model.text = std::move(container.text);
  model.generation = std::move(container.generation);
  for (const std::string_view index : {"model.safetensors.index.json", "pytorch_model.bin.index.json"})
    model.provenance.index = model.provenance.index || files.open(index).ok();
  model.provenance.path = focus.empty() ? files.name() : fmt::format("{}/{}", files.name(), focus);
  if (options.chat_template_file) TRY(replace_template(*options.chat_template_file, model.text));
  return model;
}

StatusOr<model::Model> load(const std::string& path, const LoadOptions& options) {
  TRY(const PathKind kind, path_kind(path));
  const bool folder = kind == PathKind::kFolder;
  const SplitPath split = folder ? SplitPath{path, ""} : split_path(path);
  const auto files = local_folder(split.folder);
  TRY(model::Model model, load_from(*files, split.name, options));
  model.provenance.path = path;
  return model;
}

}  // namespace motley::ingest

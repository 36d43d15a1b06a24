// One row per model family: does this metadata belong to it, which network does it describe, and what are its weights
// called. Families are told apart by the metadata's own name for the architecture, never by a model's name. How the
// weights are stored is none of their business.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "model/model.h"

namespace motley::arch {

// Whose names for keys and tensors a checkpoint uses.
enum class Dialect : uint8_t { kHuggingFace, kGguf, kLlama2c, kMeta };

// What a container says about its network. `tree` is config.json, the flat GGUF keys, llama2.c's header by field name,
// or params.json (with config.json under that key, where it lies beside).
struct Metadata {
  Dialect dialect = Dialect::kHuggingFace;
  Json tree;
  std::string file;  // for errors
};

// The tensors of a checkpoint by canonical name: for what a family can only learn from them.
class Catalogue {
 public:
  virtual ~Catalogue() = default;
  // Outermost dimension first; nullptr when there is no such tensor.
  virtual const std::vector<uint64_t>* shape(std::string_view name) const = 0;
  bool has(std::string_view name) const { return shape(name) != nullptr; }
  // A small one-dimensional f32 tensor, all of it.
  virtual StatusOr<std::vector<float>> floats(std::string_view name) const = 0;
};

// Tensors that this family does not need, by name pattern ('*' stands for any text), and why.
struct IgnoreRule {
  std::string_view pattern;
  std::string_view reason;
};

struct Description {
  model::Spec spec;
  std::vector<std::string> used_tensors;  // their numbers are in the spec now
  std::vector<std::string> notes;
};

struct Architecture {
  std::string_view name;
  bool (*matches)(const Metadata& metadata);
  StatusOr<Description> (*describe)(const Metadata& metadata, const Catalogue& tensors);
  // The canonical name of a role's module, without ".weight" or ".bias".
  std::string (*module_name)(Dialect dialect, const model::Role& role);
  std::span<const IgnoreRule> ignored;
  std::span<const IgnoreRule> ignored_when_tied;
};

std::span<const Architecture> architectures();

// The family of `metadata`; rejects ("arch.unknown") naming the architecture it found and those that there are.
StatusOr<const Architecture*> find_architecture(const Metadata& metadata);

// A tensor's or module's name without the wrappers that differ between publishers of one network ("model.",
// "language_model.model.", …). Other dialects have one name for each and keep it.
std::string_view canonical_name(Dialect dialect, std::string_view name);

// True when `text` is `pattern` with any text in place of each '*'.
bool glob_matches(std::string_view pattern, std::string_view text);

}  // namespace motley::arch

// What a configuration claims about how weights are packed, in one form for all quantisers. It is only a claim: the
// tensors decide, and the two must agree.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

// About one module. Absent values: not said.
struct PackingClaim {
  bool plain = false;   // was left in floats
  bool packed = false;  // says of this module by its own name that it is packed
  std::optional<uint64_t> bits = {};
  std::optional<uint64_t> group_size = {};  // inputs that share a scale; 0: all of a row
  std::optional<uint64_t> group_rows = {};  // outputs that share a scale; 0: all
  std::optional<bool> symmetric = {};
  std::optional<bool> ordered = {};  // act-order
  std::string layout = {};           // the method's own word: "gptq_v2", "gemm", "pack-quantized", "mxfp4"
};

// A module under the two names that configurations use.
struct ModuleName {
  std::string canonical;  // "layers.0.mlp.up_proj"
  std::string stored;     // "model.layers.0.mlp.up_proj", as the file has it
};

// What one method's configuration says. Lifetime: its own.
class PackingClaims {
 public:
  virtual ~PackingClaims() = default;
  virtual StatusOr<PackingClaim> about(const ModuleName& module) const = 0;
};

// A row of methods.def: which quant_method words it answers to, and its reader. `where` is "FILE key
// quantization_config". Every key of `config` has a meaning to the reader or is refused ("methods.key").
struct Method {
  std::string_view name;
  std::vector<std::string_view> words;
  StatusOr<std::unique_ptr<PackingClaims>> (*read)(const Json& config, std::string_view where);
};

// The claims of a checkpoint; without any where its configuration does not speak of quantisation. Rejects a method that
// motley does not hold by its name ("methods.unknown").
StatusOr<std::unique_ptr<PackingClaims>> read_claims(const Container& container);

// --- For methods

// One object of a configuration that remembers which keys were asked for.
class MethodConfig {
 public:
  MethodConfig(const Json& config, std::string_view where) : config_(config), where_(where) {}

  // nullptr (or nullopt) when absent or null. Rejects values of another kind ("methods.number", "methods.flag",
  // "methods.text", "methods.list").
  const Json* value(std::string_view key);
  StatusOr<std::optional<int64_t>> number(std::string_view key);
  StatusOr<std::optional<bool>> flag(std::string_view key);
  StatusOr<std::optional<std::string>> text(std::string_view key);
  StatusOr<std::vector<std::string>> texts(std::string_view key);

  // Rejects ("methods.key") a key that was not asked for and that `inert` (patterns with '*') does not name, unless it
  // says null, false or nothing.
  Status account_for_rest(std::span<const std::string_view> inert) const;
  Status account_for_rest(std::initializer_list<std::string_view> inert) const {
    return account_for_rest(std::span(inert.begin(), inert.size()));
  }
  const std::string& where() const { return where_; }

 private:
  const Json& config_;
  std::string where_;
  std::vector<std::string> read_;
};

// The group size of a file (-1: a whole row) as a claim has it. Rejects zero and anything below ("methods.group_size").
StatusOr<std::optional<uint64_t>> claimed_group(const std::optional<int64_t>& size, std::string_view where);

// Whether a list of names that were "not converted" has this module: by its whole name, its last part, a prefix that
// ends at a dot, or a part between dots (transformers' should_convert_module and its relatives).
bool names_module(const std::vector<std::string>& names, const ModuleName& module);

}  // namespace motley::ingest

// What config.json says about MLX's affine packing: the `quantization` object with its overrides for single modules. It
// is only a claim: the shapes of the tensors decide, and the two must agree.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/status.h"

namespace motley::ingest {

struct AffineParameters {
  uint64_t bits = 0;
  uint64_t group_size = 0;
  std::string mode = "affine";
};

class MlxQuantization {
 public:
  // From the whole configuration; nullopt without a `quantization` object of MLX's kind. Rejects values of wrong kinds
  // ("mlx.config_number", "mlx.config_mode", "mlx.config_override", "mlx.config_object").
  static StatusOr<std::optional<MlxQuantization>> read(const Json& config, std::string_view file);

  // What is claimed about a module (canonical name); nullopt: no claim.
  std::optional<AffineParameters> parameters(std::string_view module) const;
  // True when the configuration says `false` for it.
  bool says_plain(std::string_view module) const;
  // True when it has an override of its own that says it is packed.
  bool says_packed(std::string_view module) const;

 private:
  Status read_override(const std::string& key, const Json& value, std::string_view file);

  struct Override {
    bool packed = true;
    std::optional<AffineParameters> parameters;  // nullopt: the global ones
  };
  std::optional<AffineParameters> global_;
  std::map<std::string, Override, std::less<>> overrides_;
};

}  // namespace motley::ingest

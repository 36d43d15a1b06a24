// The canonical model: spec, weights by role, text assets and where everything came from. Made by ingest, consumed by
// exec, plan, text and the writers of convert; no container or packing is visible behind it.
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/json.h"
#include "model/spec.h"
#include "model/text_assets.h"
#include "tensor/storage_format.h"

namespace motley::model {

// What a weight is for, in any network.
enum class Part : uint8_t {
  kEmbedding,
  kFinalNorm,
  kHead,
  kMixerNorm,
  kQ,
  kK,
  kV,
  kO,
  kFeedForwardNorm,
  kGate,
  kUp,
  kDown,
};

// Matrices and vectors of one part: y = weight·x + bias.
enum class Slot : uint8_t { kWeight, kBias };

struct Role {
  Part part = Part::kEmbedding;
  Slot slot = Slot::kWeight;
  uint32_t layer = 0;  // 0 for parts outside layers
  auto operator<=>(const Role&) const = default;
};
std::string describe(const Role& role);  // "layer 3 attention K weight"

// Bytes of one stored tensor (or a row-contiguous piece of one).
struct Piece {
  std::shared_ptr<const ByteSource> source = {};
  ByteRange range = {};
  std::string tensor = {};  // its name in the file
};

// One weight: N x K numbers in a storage format. Vectors (norms, biases) are 1 x K.
struct Weight {
  uint64_t rows = 0;  // N
  uint64_t cols = 0;  // K
  tensor::StorageFormat format = {};
  Piece codes = {};
  std::optional<Piece> scales = {}, outer_scales = {}, scale_table = {};
  std::optional<Piece> offsets = {};  // zero points or biases of quantisation, not the layer's bias
  // Act-order: see quant::StoredMatrix. Empty: none. Shared by the copies of a weight.
  std::shared_ptr<const std::vector<uint32_t>> input_order = {};

  uint64_t stored_bytes() const;
};

// A tensor that was found and deliberately not used, and why.
struct IgnoredTensor {
  std::string tensor;
  std::string file;
  std::string reason;
};

// The tensors of a checkpoint by the type that its container gives them.
struct NativeType {
  std::string type;  // "bf16", "Q4_K"
  uint64_t tensors = 0, bytes = 0;
};

struct Provenance {
  std::string path;          // as the person named it
  std::string container;     // "GGUF v3", "safetensors"
  std::string architecture;  // "llama"
  std::vector<std::string> files;
  bool index = false;              // an index of shards lies beside the files
  std::vector<NativeType> native;  // all tensors of the files, used or not
  std::vector<IgnoredTensor> ignored;
  std::vector<std::string> overrides;  // KEY=VALUE given by hand
  std::vector<std::string> notes;      // what a person should know: "index names 3 files that are absent; …"
};

// Sampling the checkpoint itself recommends (generation_config.json). nullopt: it does not say.
struct GenerationDefaults {
  std::optional<double> temperature, top_p, min_p, repetition_penalty;
  std::optional<int64_t> top_k;
  std::optional<bool> do_sample;
  std::string source;  // the file
};

struct Model {
  Spec spec;
  std::map<Role, Weight> weights;  // complete: every role the spec needs, nothing else
  TextAssets text;
  GenerationDefaults generation;
  Provenance provenance;
};

// Every role that `spec` needs, with its shape: the one list that loading, planning and running agree on.
struct RequiredWeight {
  Role role;
  uint64_t rows = 0, cols = 0;
};
std::vector<RequiredWeight> required_weights(const Spec& spec);

// How exec and plan get at weights: from a Model on this machine today, from a peer's stage later.
class WeightSource {
 public:
  virtual ~WeightSource() = default;
  // NotFound when this source does not hold the role. The pointer lives as long as the source.
  virtual StatusOr<const Weight*> weight(const Role& role) const = 0;
};

class ModelWeights final : public WeightSource {
 public:
  explicit ModelWeights(std::shared_ptr<const Model> model) : model_(std::move(model)) {}
  StatusOr<const Weight*> weight(const Role& role) const override;

 private:
  std::shared_ptr<const Model> model_;
};

}  // namespace motley::model

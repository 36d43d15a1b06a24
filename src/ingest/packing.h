// A packing says which tensors of a checkpoint make one weight, and how they hold it. Here: what every packing sees,
// and the registry. Decoding is quant's business.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "base/status.h"
#include "ingest/container.h"
#include "ingest/mlx_quantization.h"
#include "model/model.h"

namespace motley::ingest {

// Tensors by canonical name. Lifetime: the container outlives it.
class TensorIndex final : public arch::Catalogue {
 public:
  // Rejects ("load.same_name") two tensors that have one canonical name.
  static StatusOr<TensorIndex> build(const Container& container);

  const Tensor* find(std::string_view name) const;
  const std::map<std::string, const Tensor*, std::less<>>& all() const { return tensors_; }

  const std::vector<uint64_t>* shape(std::string_view name) const override;
  StatusOr<std::vector<float>> floats(std::string_view name) const override;

 private:
  std::map<std::string, const Tensor*, std::less<>> tensors_;
};

// The tensors around one required weight: NAME.weight, NAME.scales, …
struct Module {
  std::string name;  // canonical
  const TensorIndex& tensors;
  const Tensor& weight;  // NAME.weight
  const Tensor* find(std::string_view suffix) const { return tensors.find(fmt::format("{}.{}", name, suffix)); }
};

// A weight, and every tensor that went into it.
struct BoundWeight {
  model::Weight weight;
  std::vector<const Tensor*> used;
};

struct Packing {
  std::string_view name;
  bool (*claims)(const Module& module);
  StatusOr<BoundWeight> (*bind)(const Module& module, const model::RequiredWeight& required,
                                const MlxQuantization& quantization);
};

std::span<const Packing> packings();

// The weight of `module` in the packing that claims it. Rejects a type that no packing holds ("packing.type") by its
// name.
StatusOr<BoundWeight> bind_weight(const Module& module, const model::RequiredWeight& required,
                                  const MlxQuantization& quantization);

// --- For packings
// --------------------------------------------------------------------------------------------------------

std::string where(const Tensor& tensor);                  // "FILE tensor NAME"
std::string shape_text(std::span<const uint64_t> shape);  // "[512, 256]"
model::Piece piece_of(const Tensor& tensor);

// Rejects at `site` a tensor that is not rows x cols (a vector of cols for one row).
Status check_shape(const Tensor& tensor, uint64_t rows, uint64_t cols, std::string_view site);

// A weight of one piece in `format`, whose bytes must be those that its rows take ("packing.bytes").
StatusOr<BoundWeight> bind_one_piece(const Tensor& tensor, const model::RequiredWeight& required,
                                     tensor::StorageFormat format);

}  // namespace motley::ingest

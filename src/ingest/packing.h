// A packing says which tensors of a checkpoint make one weight, and how they hold it. Here: what every packing sees,
// and the registry. Decoding is quant's business.
#pragma once

#include <initializer_list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "arch/architecture.h"
#include "base/status.h"
#include "ingest/container.h"
#include "ingest/packing_claim.h"
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

// The tensors around one required weight: NAME.weight, NAME.scales, NAME.qweight, …
struct Module {
  std::string name;  // canonical
  const TensorIndex& tensors;
  const Container& container;
  const Tensor* weight = nullptr;  // NAME.weight, where there is one

  const Tensor* find(std::string_view suffix) const { return tensors.find(fmt::format("{}.{}", name, suffix)); }
  bool has(std::string_view suffix) const { return find(suffix) != nullptr; }
  // For errors: the first tensor of the module.
  std::string where() const;
};

// A weight, and every tensor that went into it or that belongs to it without being needed.
struct BoundWeight {
  model::Weight weight;
  std::vector<const Tensor*> used;
  std::vector<std::pair<const Tensor*, std::string_view>> ignored = {};  // and why
  std::vector<std::string> notes = {};
};

struct Packing {
  std::string_view name;
  // Whether the names (and types) of its tensors are this packing's.
  bool (*claims)(const Module& module);
  StatusOr<BoundWeight> (*bind)(const Module& module, const model::RequiredWeight& required, const PackingClaim& claim);
};

std::span<const Packing> packings();

// The weight of `module` in the packing that claims it. Rejects a type that no packing holds ("packing.type") by its
// name, a module without any tensor ("load.missing_tensor"), and a weight that is not what the configuration says of it
// ("packing.claimed_plain", "packing.claimed_packed", "packing.bits_claimed", "packing.group_claimed",
// "packing.group_rows_claimed").
StatusOr<BoundWeight> bind_weight(const Module& module, const model::RequiredWeight& required,
                                  const PackingClaim& claim);

// --- For packings
// --------------------------------------------------------------------------------------------------------

std::string where(const Tensor& tensor);                  // "FILE tensor NAME"
std::string shape_text(std::span<const uint64_t> shape);  // "[512, 256]"
model::Piece piece_of(const Tensor& tensor);

// Rejects at `site` a tensor that is not rows x cols (a vector of cols for one row).
Status check_shape(const Tensor& tensor, uint64_t rows, uint64_t cols, std::string_view site);

// Rejects at `site` a module without NAME.suffix.
StatusOr<const Tensor*> need(const Module& module, std::string_view suffix, std::string_view site);

// Rejects at `site` a tensor of none of these types.
Status check_type(const Tensor& tensor, std::initializer_list<tensor::DType> types, std::string_view site);

// Rejects at `site` a tensor of another shape.
Status check_exact_shape(const Tensor& tensor, const std::vector<uint64_t>& shape, std::string_view site);

// The few numbers of a small tensor of i32 or i64 (scalars, shapes, g_idx). Rejects another type or more than `most`
// numbers at `site`.
StatusOr<std::vector<int64_t>> read_integers(const Tensor& tensor, uint64_t most, std::string_view site);

// Names those of NAME.suffix that are there as ignored: scales for activations of few bits, which are kept wider here.
void ignore_activation_scales(const Module& module, std::initializer_list<std::string_view> suffixes,
                              BoundWeight& bound);

inline uint64_t ceil_div(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// The tensors of a weight in a grouped format.
struct GroupedParts {
  const Tensor* codes = nullptr;
  const Tensor* scales = nullptr;
  const Tensor* offsets = nullptr;
  const Tensor* outer_scales = nullptr;
  const Tensor* scale_table = nullptr;
};

// Puts them together; the bytes of each must be those that the format asks for ("packing.part_bytes"), and a vector
// cannot be packed ("packing.vector"). Offsets beside scales have their shape ("packing.offset_shape"), and the one
// scale of a tensor is a positive number ("packing.outer_scale").
StatusOr<BoundWeight> bind_grouped(const GroupedParts& parts, const model::RequiredWeight& required,
                                   const tensor::StorageFormat& format);

// A weight of one piece in `format`, whose bytes must be those that its rows take ("packing.bytes").
StatusOr<BoundWeight> bind_one_piece(const Tensor& tensor, const model::RequiredWeight& required,
                                     tensor::StorageFormat format);

}  // namespace motley::ingest

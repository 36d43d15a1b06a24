// The numbers of a stored weight row by row, whatever its format, for those who decode it on the host: checks and
// conversions. Devices have their own way, which copies into their memory. Sources may be read-only; nothing is kept
// but views into the source's map (copies of a part where it has none).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/status.h"
#include "model/model.h"
#include "quant/stored_matrix.h"

namespace motley::ingest {

// Threads: read_row() from any at once. Lifetime: `weight` outlives it; its end gives the pages back.
class WeightReader {
 public:
  // The errors of reading.
  static StatusOr<WeightReader> open(const model::Weight& weight);
  ~WeightReader();
  WeightReader(WeightReader&&) = default;
  WeightReader& operator=(WeightReader&&) = delete;
  WeightReader(const WeightReader&) = delete;
  WeightReader& operator=(const WeightReader&) = delete;

  const model::Weight& weight() const { return *weight_; }
  const quant::StoredMatrix& matrix() const { return matrix_; }

  // Row `row` in the order of the network's inputs (not of positions): cols floats.
  void read_row(uint64_t row, std::span<float> out) const;

 private:
  explicit WeightReader(const model::Weight& weight) : weight_(&weight) {}
  StatusOr<std::span<const std::byte>> open_part(const std::optional<model::Piece>& piece);

  const model::Weight* weight_;
  quant::StoredMatrix matrix_;
  std::vector<std::vector<std::byte>> copies_;  // of parts that are not mapped
};

}  // namespace motley::ingest

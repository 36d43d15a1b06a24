// The bytes of one weight, all parts, for those who decode it on the host: checks, conversions. Devices have their own
// way, which copies into their memory.
#pragma once

#include <vector>

#include "model/model.h"
#include "quant/stored_matrix.h"

namespace motley::ingest {

// Lifetime: views into the sources (or copies of them where they are not mapped); the weight outlives it. Threads: any
// may read.
class WeightReader {
 public:
  // The errors of reading.
  static StatusOr<WeightReader> open(const model::Weight& weight);

  const quant::StoredMatrix& stored() const { return stored_; }
  // Input k of row n as f32, in the order of the network's inputs (an order of the file's is undone).
  void decode_row(uint64_t row, std::span<float> out) const;
  // The pages are not needed any more.
  void done() const;

 private:
  StatusOr<std::span<const std::byte>> open_piece(const std::optional<model::Piece>& piece);

  const model::Weight* weight_ = nullptr;
  quant::StoredMatrix stored_;
  std::vector<std::vector<std::byte>> copies_;
};

}  // namespace motley::ingest

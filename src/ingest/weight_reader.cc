#include "ingest/weight_reader.h"

#include <array>

namespace motley::ingest {

StatusOr<WeightReader> WeightReader::open(const model::Weight& weight) {
  WeightReader reader(weight);
  quant::StoredMatrix& matrix = reader.matrix_;
  matrix = {.format = weight.format, .rows = weight.rows, .cols = weight.cols};
  TRY(matrix.codes, reader.open_part(weight.codes));
  TRY(matrix.scales, reader.open_part(weight.scales));
  TRY(matrix.offsets, reader.open_part(weight.offsets));
  TRY(matrix.outer_scales, reader.open_part(weight.outer_scales));
  TRY(matrix.scale_table, reader.open_part(weight.scale_table));
  if (weight.input_order) matrix.input_order = *weight.input_order;
  return reader;
}

StatusOr<std::span<const std::byte>> WeightReader::open_part(const std::optional<model::Piece>& piece) {
  if (!piece) return std::span<const std::byte>();
  piece->source->will_need(piece->range);
  if (const auto view = piece->source->view(piece->range)) return *view;
  TRY(auto copy, read_range(*piece->source, piece->range, piece->range.size_bytes));
  copies_.push_back(std::move(copy));
  return copies_.back();
}

WeightReader::~WeightReader() {
  for (const auto& piece : std::array{std::optional(weight_->codes), weight_->scales, weight_->offsets,
                                      weight_->outer_scales, weight_->scale_table})
    if (piece && piece->source) piece->source->done_with(piece->range);
}

void WeightReader::read_row(uint64_t row, std::span<float> out) const {
  if (matrix_.input_order.empty()) return quant::decode_row(matrix_, row, 0, out);
  std::vector<float> positions(out.size());
  quant::decode_row(matrix_, row, 0, positions);
  for (size_t k = 0; k < out.size(); ++k) out[matrix_.input_order[k]] = positions[k];
}

}  // namespace motley::ingest

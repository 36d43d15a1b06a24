#include "ingest/weight_reader.h"

namespace motley::ingest {

StatusOr<WeightReader> WeightReader::open(const model::Weight& weight) {
  WeightReader reader;
  reader.weight_ = &weight;
  quant::StoredMatrix& stored = reader.stored_;
  stored = {.format = weight.format, .rows = weight.rows, .cols = weight.cols};
  TRY(stored.codes, reader.open_piece(weight.codes));
  TRY(stored.scales, reader.open_piece(weight.scales));
  TRY(stored.offsets, reader.open_piece(weight.offsets));
  TRY(stored.outer_scales, reader.open_piece(weight.outer_scales));
  TRY(stored.scale_table, reader.open_piece(weight.scale_table));
  if (weight.input_order) stored.input_order = *weight.input_order;
  return reader;
}

StatusOr<std::span<const std::byte>> WeightReader::open_piece(const std::optional<model::Piece>& piece) {
  if (!piece) return std::span<const std::byte>();
  piece->source->will_need(piece->range);
  if (const auto view = piece->source->view(piece->range)) return *view;
  TRY(std::vector<std::byte> copy, read_range(*piece->source, piece->range, piece->range.size_bytes));
  copies_.push_back(std::move(copy));  // a moved vector keeps its storage
  return copies_.back();
}

void WeightReader::decode_row(uint64_t row, std::span<float> out) const {
  if (stored_.input_order.empty()) return quant::decode_row(stored_, row, 0, out);
  std::vector<float> ordered(out.size());
  quant::decode_row(stored_, row, 0, ordered);
  for (size_t k = 0; k < out.size(); ++k) out[stored_.input_order[k]] = ordered[k];
}

void WeightReader::done() const {
  for (const auto* piece : {&weight_->scales, &weight_->offsets, &weight_->outer_scales, &weight_->scale_table})
    if (*piece) (*piece)->source->done_with((*piece)->range);
  weight_->codes.source->done_with(weight_->codes.range);
}

}  // namespace motley::ingest

#include "convert/row_block.h"

#include <algorithm>
#include <cmath>

#include "convert/integer_rows.h"

namespace motley::convert {
namespace {

using quant::EncodedMatrix;

std::vector<float> read_rows(const PlannedWeight& weight, const WeightReader& source, uint64_t first, uint64_t count) {
  const uint64_t cols = weight.source->cols;
  std::vector<float> values(count * cols);
  if (is_vector(weight)) {  // a bias: its elements are the outputs
    std::vector<float> stored(cols);
    source.read_row(0, stored);
    for (uint64_t k = 0; k < cols; ++k) values[k] = stored[weight.rows.source_row(k)];
    return values;
  }
  for (uint64_t row = 0; row < count; ++row)
    source.read_row(weight.rows.source_row(first + row), std::span(values).subspan(row * cols, cols));
  return values;
}

void append_part(std::vector<std::byte>& out, std::span<const std::byte> part, uint64_t row, uint64_t row_bytes) {
  const auto bytes = part.subspan(row * row_bytes, row_bytes);
  out.insert(out.end(), bytes.begin(), bytes.end());
}

StatusOr<EncodedMatrix> carry_rows(const PlannedWeight& weight, const WeightReader& source, uint64_t first,
                                   uint64_t count) {
  TRY(const quant::RowBytes row, quant::row_bytes(weight.format, weight.source->cols, weight.name));
  EncodedMatrix out{
      .format = weight.format, .rows = count, .cols = weight.source->cols, .codes = {}, .scales = {}, .offsets = {}};
  for (uint64_t target = first; target < first + count; ++target) {
    const uint64_t from = weight.rows.source_row(target);
    append_part(out.codes, source.matrix().codes, from, row.codes);
    append_part(out.scales, source.matrix().scales, from, row.scales);
    append_part(out.offsets, source.matrix().offsets, from, row.offsets);
  }
  return out;
}

IntegerGrid grid_of(const tensor::StorageFormat& format) {
  if (format.bits == 0) return own_grid(format, quant::kIntegerRun);  // GGUF's blocks say it by their kind
  return {.bits = format.bits, .group_size = format.group_size};
}

StatusOr<EncodedMatrix> carry_integers(const PlannedWeight& weight, const WeightReader& source, uint64_t first,
                                       uint64_t count) {
  std::vector<IntegerRow> rows(count);
  for (uint64_t row = 0; row < count; ++row)
    if (!read_integers(source.matrix(), weight.rows.source_row(first + row), grid_of(weight.format), rows[row]))
      return absl::InternalError(fmt::format("{}: its integers were planned for and are not there", weight.name));
  return write_integers(weight.format, weight.source->cols, rows);
}

StatusOr<EncodedMatrix> round(const PlannedWeight& weight, std::span<const float> values, uint64_t count) {
  const uint64_t cols = weight.source->cols;
  if (weight.format.kind != tensor::StorageKind::kGrouped) return quant::encode(weight.format, count, cols, values);
  std::vector<IntegerRow> rows;
  for (uint64_t row = 0; row < count; ++row)
    rows.push_back(round_to_integers(values.subspan(row * cols, cols), grid_of(weight.format)));
  return write_integers(weight.format, cols, rows);
}

StatusOr<EncodedMatrix> encode(const PlannedWeight& weight, const WeightReader& source, uint64_t first, uint64_t count,
                               std::span<const float> values) {
  switch (weight.method) {
    case Method::kCarryRows:
      return carry_rows(weight, source, first, count);
    case Method::kCarryIntegers:
      return carry_integers(weight, source, first, count);
    case Method::kRound:
      break;
  }
  return round(weight, values, count);
}

Status compare_row(const PlannedWeight& weight, std::span<const float> source, std::span<const float> target,
                   Difference& out) {
  for (size_t k = 0; k < source.size(); ++k) {
    REJECT_IF(!std::isfinite(target[k]) && std::isfinite(source[k]), "convert.overflow", weight.name,
              fmt::format("numbers that {} can hold", tensor::describe(weight.format)), source[k]);
    out.source_squares += double{source[k]} * double{source[k]};
    if (target[k] == source[k]) continue;
    const double difference = double{target[k]} - double{source[k]};
    out.exact = out.exact && std::isnan(source[k]) && std::isnan(target[k]);
    out.largest = std::max(out.largest, std::fabs(difference));
    out.squares += difference * difference;
  }
  return absl::OkStatus();
}

}  // namespace

void Difference::add(const Difference& other) {
  exact = exact && other.exact;
  largest = std::max(largest, other.largest);
  squares += other.squares;
  source_squares += other.source_squares;
}

double Difference::relative_rms() const { return source_squares == 0 ? 0 : std::sqrt(squares / source_squares); }

StatusOr<RowBlock> make_rows(const PlannedWeight& weight, const WeightReader& source, uint64_t first, uint64_t count) {
  const uint64_t cols = weight.source->cols;
  const std::vector<float> values = read_rows(weight, source, first, count);
  RowBlock block;
  TRY(block.bytes, encode(weight, source, first, count, values));
  std::vector<float> decoded(cols);
  for (uint64_t row = 0; row < count; ++row) {
    quant::decode_row(block.bytes.view(), row, 0, decoded);
    TRY(compare_row(weight, std::span(values).subspan(row * cols, cols), decoded, block.difference));
  }
  return block;
}

bool rows_follow(const tensor::StorageFormat& format) { return format.grouping.order != tensor::CodeOrder::kColumns; }

StatusOr<quant::RowBytes> target_row_bytes(const PlannedWeight& weight) {
  if (quant::rows_lie_apart(weight.format)) return quant::row_bytes(weight.format, weight.source->cols, weight.name);
  TRY(const quant::PartBytes row, quant::part_bytes(weight.format, 1, weight.source->cols, weight.name));
  return quant::RowBytes{.codes = row.codes, .scales = row.scales, .offsets = row.offsets};
}

}  // namespace motley::convert

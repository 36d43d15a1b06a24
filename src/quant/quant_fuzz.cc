// Any format and shape that part_bytes() accepts decodes inside its bytes, whatever they are.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "quant/stored_matrix.h"

namespace {

namespace quant = motley::quant;
namespace tensor = motley::tensor;

// Matrices of more than this would only cost time.
constexpr uint64_t kLargestMatrix = 1 << 16;
constexpr uint64_t kMostRows = 64;

struct Header {
  uint8_t kind, bits, scale_dtype, rows;
  uint16_t group_size, cols;
};

// More of the header where the format is grouped; every enumeration one past its end too.
struct GroupedHeader {
  uint8_t value, order, grid, group_rows, padded_groups, rule, nested_group, offset, offset_order, offset_dtype,
      zero_point;
};

tensor::Grouping grouping_of(const GroupedHeader& h) {
  tensor::Grouping grouping;
  grouping.value = static_cast<tensor::CodeValue>(h.value % 7);
  grouping.order = static_cast<tensor::CodeOrder>(h.order % 10);
  grouping.grid = static_cast<tensor::GridOrder>(h.grid % 3);
  grouping.group_rows = h.group_rows;
  grouping.padded_groups = h.padded_groups;
  grouping.rule = static_cast<tensor::ScaleRule>(h.rule % 5);
  grouping.nested_group = h.nested_group;
  grouping.offset = static_cast<tensor::OffsetKind>(h.offset % 5);
  grouping.offset_order = static_cast<tensor::OffsetOrder>(h.offset_order % 6);
  grouping.offset_dtype = static_cast<tensor::DType>(h.offset_dtype % 16);
  grouping.zero_point = h.zero_point;
  return grouping;
}

// The first `size` bytes in memory of exactly that size, so that a step too far is seen; zeros where there are no more.
std::vector<std::byte> take(std::span<const std::byte>& rest, uint64_t size) {
  std::vector<std::byte> own(size);
  const uint64_t have = std::min<uint64_t>(size, rest.size());
  std::copy_n(rest.begin(), have, own.begin());
  rest = rest.subspan(have);
  return own;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  Header header;
  if (size < sizeof(header)) return 0;
  std::memcpy(&header, data, sizeof(header));
  std::span<const std::byte> rest = std::as_bytes(std::span(data, size)).subspan(sizeof(header));
  quant::StorageFormat format{.kind = static_cast<tensor::StorageKind>(header.kind % tensor::kStorageKinds),
                              .bits = header.bits,
                              .group_size = header.group_size,
                              .scale_dtype = static_cast<tensor::DType>(header.scale_dtype % 16)};
  if (format.kind == tensor::StorageKind::kGrouped) {
    GroupedHeader grouped = {};
    if (rest.size() < sizeof(grouped)) return 0;
    std::memcpy(&grouped, rest.data(), sizeof(grouped));
    rest = rest.subspan(sizeof(grouped));
    format.grouping = grouping_of(grouped);
  }
  const uint64_t rows = std::min<uint64_t>(header.rows, kMostRows);
  const auto bytes = quant::part_bytes(format, rows, header.cols, "fuzz");
  if (!bytes.ok() || rows == 0 || bytes->total() > kLargestMatrix || rows * header.cols > kLargestMatrix) return 0;
  const auto codes = take(rest, bytes->codes), scales = take(rest, bytes->scales), offsets = take(rest, bytes->offsets),
             outer_scales = take(rest, bytes->outer_scales), scale_table = take(rest, bytes->scale_table);
  const quant::StoredMatrix matrix{format, rows, header.cols, codes, scales, offsets, outer_scales, scale_table};
  std::vector<float> out(header.cols);
  std::vector<uint8_t> integers(header.cols);
  const uint64_t runs = header.cols / quant::kIntegerRun;
  std::vector<int16_t> sixteens(header.cols);
  std::vector<float> run_scales(runs), run_biases(runs);
  for (uint64_t row = 0; row < rows; ++row) {
    quant::decode_row(matrix, row, 0, out);
    if (quant::has_codes(format)) quant::decode_codes(matrix, row, integers);
    if (quant::integer_form(format, header.cols) != quant::IntegerForm::kNone)
      quant::decode_integers(matrix, row, 0, sixteens, run_scales, run_biases);
  }
  return 0;
}

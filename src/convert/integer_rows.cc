#include "convert/integer_rows.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <optional>

namespace motley::convert {
namespace {

using quant::kIntegerRun;
using tensor::DType;
using tensor::StorageKind;

// A whole source row as integers with the scale and bias of each run of 16.
struct Runs {
  std::vector<int16_t> integers;
  std::vector<float> scales, biases;
};

Runs decode_runs(const quant::StoredMatrix& source, uint64_t row) {
  Runs runs{.integers = std::vector<int16_t>(source.cols),
            .scales = std::vector<float>(source.cols / kIntegerRun),
            .biases = std::vector<float>(source.cols / kIntegerRun)};
  quant::decode_integers(source, row, 0, runs.integers, runs.scales, runs.biases);
  return runs;
}

bool one_scale(const Runs& runs, size_t first_run, size_t count) {
  for (size_t run = first_run + 1; run < first_run + count; ++run)
    if (runs.scales[run] != runs.scales[first_run] || runs.biases[run] != runs.biases[first_run]) return false;
  return true;
}

// -bias / scale when it is a whole number whose product with the scale is the bias, bit for bit.
std::optional<int> whole_steps(float scale, float bias, int limit) {
  if (bias == 0 || scale == 0) return bias == 0 ? std::optional(0) : std::nullopt;
  const float steps = std::nearbyint(-bias / scale);
  if (std::fabs(steps) > static_cast<float>(limit) || -steps * scale != bias) return std::nullopt;
  return static_cast<int>(steps);
}

// Zero points that let integers from `low` to `high` be codes from 0 to `top`; half the range where it can be, as
// symmetric packings have it.
std::optional<int> zero_for(int low, int high, int top) {
  const int middle = (top + 1) / 2;
  if (low + middle >= 0 && high + middle <= top) return middle;
  return high - low > top ? std::nullopt : std::optional(low >= 0 && high <= top ? 0 : -low);
}

// How codes are made of the integers of one group: code = integer + shift.
struct Coding {
  int shift = 0, zero = 0;
  float bias = 0;
};

// A source with biases keeps its codes, so that its zero points are found again; one without is moved up.
std::optional<Coding> coding_of(int low, int high, float scale, float bias, int top) {
  if (bias != 0 && low >= 0 && high <= top) {
    const auto steps = whole_steps(scale, bias, top);
    return Coding{.shift = 0, .zero = steps.value_or(0), .bias = steps ? 0 : bias};
  }
  const auto zero = zero_for(low, high, top);
  if (!zero) return std::nullopt;
  return Coding{.shift = *zero, .zero = *zero, .bias = bias};
}

bool read_group(const Runs& runs, size_t group, IntegerGrid grid, IntegerRow& out) {
  const size_t first = group * grid.group_size;
  const auto integers = std::span(runs.integers).subspan(first, grid.group_size);
  const auto [low, high] = std::minmax_element(integers.begin(), integers.end());
  const float scale = runs.scales[first / kIntegerRun];
  const auto coding = coding_of(*low, *high, scale, runs.biases[first / kIntegerRun], (1 << grid.bits) - 1);
  if (!coding) return false;
  for (size_t i = 0; i < integers.size(); ++i) out.codes[first + i] = static_cast<uint8_t>(integers[i] + coding->shift);
  out.scales.push_back(scale);
  out.zeros.push_back(coding->zero);
  out.biases.push_back(coding->bias);
  return true;
}

void append_bits(std::vector<std::byte>& out, std::span<const uint8_t> codes, uint32_t bits) {
  uint32_t window = 0, filled = 0;
  for (const uint8_t code : codes) {
    window |= uint32_t{code} << filled;
    for (filled += bits; filled >= 8; filled -= 8, window >>= 8) out.push_back(static_cast<std::byte>(window & 255));
  }
}

void append_number(std::vector<std::byte>& out, DType dtype, float value) {
  const uint32_t bits = dtype == DType::kF32   ? std::bit_cast<uint32_t>(value)
                        : dtype == DType::kF16 ? tensor::f32_to_f16(value)
                                               : tensor::f32_to_bf16(value);
  for (size_t i = 0; i < tensor::size_bytes(dtype); ++i) out.push_back(static_cast<std::byte>(bits >> (8 * i) & 255));
}

void write_mlx(std::span<const IntegerRow> rows, quant::EncodedMatrix& out) {
  for (const IntegerRow& row : rows) {
    append_bits(out.codes, row.codes, out.format.bits);
    for (size_t g = 0; g < row.scales.size(); ++g) {
      append_number(out.scales, out.format.scale_dtype, row.scales[g]);
      append_number(out.offsets, out.format.scale_dtype, stored_bias(row, g));
    }
  }
}

void write_int8(std::span<const IntegerRow> rows, quant::EncodedMatrix& out) {
  for (const IntegerRow& row : rows) {
    for (const uint8_t code : row.codes) out.codes.push_back(std::byte{code} ^ std::byte{128});
    for (const float scale : row.scales) append_number(out.scales, DType::kF32, scale);
  }
}

// GGUF's blocks of 32 inputs: {d, [m,] codes}, byte j of four bits holds inputs j and j + 16. A group of the rows is a
// block, whatever the groups of the source were.
void write_blocks(std::span<const IntegerRow> rows, quant::EncodedMatrix& out) {
  constexpr size_t kBlock = 32;
  for (const IntegerRow& row : rows) {
    for (size_t block = 0; block < row.scales.size(); ++block) {
      const auto codes = std::span(row.codes).subspan(kBlock * block, kBlock);
      append_number(out.codes, DType::kF16, row.scales[block]);
      if (out.format.kind == StorageKind::kQ4_1) append_number(out.codes, DType::kF16, stored_bias(row, block));
      if (out.format.kind == StorageKind::kQ8_0) {
        for (const uint8_t code : codes) out.codes.push_back(std::byte{code} ^ std::byte{128});
        continue;
      }
      for (size_t j = 0; j < kBlock / 2; ++j)
        out.codes.push_back(static_cast<std::byte>(codes[j] | codes[j + kBlock / 2] << 4));
    }
  }
}

bool is_block(StorageKind kind) {
  return kind == StorageKind::kQ4_0 || kind == StorageKind::kQ4_1 || kind == StorageKind::kQ8_0;
}

void put_field(std::vector<std::byte>& words, uint64_t word, uint32_t field, uint32_t value) {
  words[4 * word + field / 2] |= static_cast<std::byte>(value << (4 * (field % 2)));
}

// docs/formats.md: codes down the columns, zero points along the rows and one lower than they are.
void write_gptq(std::span<const IntegerRow> rows, quant::EncodedMatrix& out) {
  const uint64_t count = rows.size(), groups = rows.front().scales.size();
  out.codes.assign(out.cols / 8 * count * 4, {});
  out.offsets.assign(groups * (count / 8) * 4, {});
  for (uint64_t n = 0; n < count; ++n) {
    for (uint64_t k = 0; k < out.cols; ++k)
      put_field(out.codes, k / 8 * count + n, static_cast<uint32_t>(k % 8), rows[n].codes[k]);
    for (uint64_t g = 0; g < groups; ++g)
      put_field(out.offsets, g * (count / 8) + n / 8, static_cast<uint32_t>(n % 8),
                static_cast<uint32_t>(rows[n].zeros[g] - 1) & 15);
  }
  for (uint64_t g = 0; g < groups; ++g)
    for (uint64_t n = 0; n < count; ++n) append_number(out.scales, out.format.scale_dtype, rows[n].scales[g]);
}

// A code of GPTQ v1 is one lower than its zero point; kernels that do not mask read 0 as 16, so 0 is not written.
bool zeros_fit_gptq(const IntegerRow& row) {
  for (size_t g = 0; g < row.zeros.size(); ++g)
    if (row.biases[g] != 0 || row.zeros[g] < 1 || row.zeros[g] > 15) return false;
  return true;
}

bool zeros_fit_int8(const IntegerRow& row) {
  for (size_t g = 0; g < row.zeros.size(); ++g)
    if (row.biases[g] != 0 || row.zeros[g] != 128) return false;
  return true;
}

// Q4_0 and Q8_0 have one zero point, half the range; Q4_1 has a bias for any.
bool zeros_fit_block(const IntegerRow& row, StorageKind kind) {
  const int middle = kind == StorageKind::kQ8_0 ? 128 : 8;
  for (size_t g = 0; g < row.zeros.size(); ++g)
    if (kind != StorageKind::kQ4_1 && (row.biases[g] != 0 || row.zeros[g] != middle)) return false;
  return true;
}

bool is_gptq(const tensor::StorageFormat& format) { return format.grouping.order == tensor::CodeOrder::kColumns; }

}  // namespace

bool read_integers(const quant::StoredMatrix& source, uint64_t row, IntegerGrid grid, IntegerRow& out) {
  const bool whole = source.cols % kIntegerRun == 0 && grid.group_size % kIntegerRun == 0 &&
                     source.cols % grid.group_size == 0 && source.input_order.empty();
  if (!whole || quant::integer_form(source.format, source.cols) == quant::IntegerForm::kNone) return false;
  const Runs runs = decode_runs(source, row);
  out = {.codes = std::vector<uint8_t>(source.cols), .scales = {}, .biases = {}, .zeros = {}};
  for (size_t group = 0; group < source.cols / grid.group_size; ++group) {
    if (!one_scale(runs, group * grid.group_size / kIntegerRun, grid.group_size / kIntegerRun)) return false;
    if (!read_group(runs, group, grid, out)) return false;
  }
  return true;
}

IntegerGrid own_grid(const tensor::StorageFormat& format, uint64_t cols) {
  if (quant::integer_form(format, cols) == quant::IntegerForm::kNone) return {};
  switch (format.kind) {
    case StorageKind::kQ4_0:
    case StorageKind::kQ4_1:
      return {.bits = 4, .group_size = 32};
    case StorageKind::kQ8_0:
      return {.bits = 8, .group_size = 32};
    default:
      return {.bits = format.bits,
              .group_size = format.group_size == 0 ? static_cast<uint32_t>(cols) : format.group_size};
  }
}

IntegerRow round_to_integers(std::span<const float> values, IntegerGrid grid) {
  const int middle = 1 << (grid.bits - 1);
  IntegerRow row;
  for (size_t first = 0; first < values.size(); first += grid.group_size) {
    const auto group = values.subspan(first, grid.group_size);
    float largest = 0;
    for (const float value : group) largest = std::max(largest, std::fabs(value));
    const float scale = largest / static_cast<float>(middle - 1);
    for (const float value : group)
      row.codes.push_back(static_cast<uint8_t>(middle + (scale == 0 ? 0 : std::lround(value / scale))));
    row.scales.push_back(scale);
    row.biases.push_back(0);
    row.zeros.push_back(middle);
  }
  return row;
}

tensor::StorageFormat mlx_format(IntegerGrid grid, DType scale_dtype) {
  return {.kind = StorageKind::kMlxAffine,
          .bits = static_cast<uint8_t>(grid.bits),
          .group_size = grid.group_size,
          .scale_dtype = scale_dtype};
}

tensor::StorageFormat gptq_format(uint32_t group_size, DType scale_dtype) {
  tensor::StorageFormat format{
      .kind = StorageKind::kGrouped, .bits = 4, .group_size = group_size, .scale_dtype = scale_dtype};
  format.grouping.packing = "GPTQ";
  format.grouping.order = tensor::CodeOrder::kColumns;
  format.grouping.grid = tensor::GridOrder::kColumnMajor;
  format.grouping.offset = tensor::OffsetKind::kZeroPoints;
  format.grouping.offset_order = tensor::OffsetOrder::kGptqV1;
  return format;
}

tensor::StorageFormat llama2c_int8_format(uint32_t group_size) {
  tensor::StorageFormat format{
      .kind = StorageKind::kGrouped, .bits = 8, .group_size = group_size, .scale_dtype = DType::kF32};
  format.grouping.packing = "llama2.c";
  format.grouping.value = tensor::CodeValue::kSigned;
  format.grouping.grid = tensor::GridOrder::kFlat;
  format.grouping.zero_point = 128;
  return format;
}

StatusOr<quant::EncodedMatrix> write_integers(const tensor::StorageFormat& format, uint64_t cols,
                                              std::span<const IntegerRow> rows) {
  quant::EncodedMatrix out{
      .format = format, .rows = rows.size(), .cols = cols, .codes = {}, .scales = {}, .offsets = {}};
  if (format.kind == StorageKind::kMlxAffine) {
    write_mlx(rows, out);
    return out;
  }
  if (is_block(format.kind)) {
    const bool block_fit =
        std::all_of(rows.begin(), rows.end(), [&](const IntegerRow& row) { return zeros_fit_block(row, format.kind); });
    REJECT_IF(!block_fit, "convert.block_zero", tensor::describe(format), "zero points of half the range", "others");
    write_blocks(rows, out);
    return out;
  }
  const auto fit = is_gptq(format) ? zeros_fit_gptq : zeros_fit_int8;
  REJECT_IF(!std::all_of(rows.begin(), rows.end(), fit), "convert.zero_point", tensor::describe(format),
            is_gptq(format) ? "zero points from 1 to 15" : "no zero points", "others");
  is_gptq(format) ? write_gptq(rows, out) : write_int8(rows, out);
  return out;
}

float stored_bias(const IntegerRow& row, size_t group) {
  return row.biases[group] - row.scales[group] * static_cast<float>(row.zeros[group]);
}

float value_in(const tensor::StorageFormat& format, const IntegerRow& row, IntegerGrid grid, size_t k) {
  const size_t group = k / grid.group_size;
  if (format.kind == StorageKind::kMlxAffine)
    return row.scales[group] * static_cast<float>(row.codes[k]) + stored_bias(row, group);
  return static_cast<float>(int{row.codes[k]} - row.zeros[group]) * row.scales[group] + row.biases[group];
}

}  // namespace motley::convert

#include "exec/cpu/cpu_device.h"

#include <algorithm>

#include "base/cpu.h"
#include "exec/cpu/cpu_program.h"

namespace motley::exec {
namespace {

using model::Piece;

// Rows of one part of a weight, in place when the source has them in memory, copied otherwise.
class PieceBytes {
 public:
  static StatusOr<PieceBytes> open(const Piece& piece, uint64_t first_row, uint64_t rows, uint64_t row_bytes) {
    const ByteRange range{.offset = piece.range.offset + first_row * row_bytes, .size_bytes = rows * row_bytes};
    if (range.end() > piece.range.end())
      return absl::InternalError(
          fmt::format("{}: tensor \"{}\" is shorter than its rows", piece.source->name(), piece.tensor));
    PieceBytes bytes(piece.source, range);
    piece.source->will_need(range);
    if (const auto view = piece.source->view(range)) {
      bytes.view_ = *view;
    } else {
      TRY(bytes.copy_, read_range(*piece.source, range, range.size_bytes));
      bytes.view_ = bytes.copy_;
    }
    return bytes;
  }

  std::span<const std::byte> view() const { return view_; }
  void done() const { source_->done_with(range_); }

 private:
  PieceBytes(std::shared_ptr<const ByteSource> source, ByteRange range) : source_(std::move(source)), range_(range) {}

  std::shared_ptr<const ByteSource> source_;
  ByteRange range_;
  std::vector<std::byte> copy_;  // a moved vector keeps its storage, so view_ stays right
  std::span<const std::byte> view_;
};

// All parts of a slice of a format whose rows lie apart, opened together and given back together.
class SliceBytes {
 public:
  static StatusOr<SliceBytes> open(const WeightSlice& slice) {
    const model::Weight& weight = *slice.weight;
    TRY(const quant::RowBytes row, quant::row_bytes(weight.format, weight.cols, weight.codes.tensor));
    SliceBytes bytes;
    bytes.stored_ = {
        .format = weight.format, .rows = slice.rows, .cols = weight.cols, .codes = {}, .scales = {}, .offsets = {}};
    TRY(bytes.stored_.codes, bytes.add(weight.codes, slice, row.codes));
    if (weight.scales) {
      TRY(bytes.stored_.scales, bytes.add(*weight.scales, slice, row.scales));
    }
    if (weight.offsets) {
      TRY(bytes.stored_.offsets, bytes.add(*weight.offsets, slice, row.offsets));
    }
    return bytes;
  }

  const quant::StoredMatrix& stored() const { return stored_; }
  void done() const {
    for (const PieceBytes& piece : pieces_) piece.done();
  }

 private:
  StatusOr<std::span<const std::byte>> add(const Piece& piece, const WeightSlice& slice, uint64_t row_bytes) {
    TRY(PieceBytes bytes, PieceBytes::open(piece, slice.first_row, slice.rows, row_bytes));
    pieces_.push_back(std::move(bytes));
    return pieces_.back().view();
  }

  quant::StoredMatrix stored_;
  std::vector<PieceBytes> pieces_;
};

// Bytes of a source that are in memory beside what was made of them: mapped pages are given back, and copies freed,
// after so many. An untied head is as large as all the scratch that a model may have.
constexpr uint64_t kUploadBytes = 16 << 20;

// A panel at least.
uint64_t rows_at_once(const WeightSlice& slice) {
  const uint64_t rows = kUploadBytes / std::max<uint64_t>(1, slice.weight->stored_bytes() / slice.weight->rows);
  return std::max<uint64_t>(kernels::kPanelRows, rows / kernels::kPanelRows * kernels::kPanelRows);
}

}  // namespace

CpuDevice::CpuDevice(const kernels::KernelTable& table, const DeviceOptions& options)
    : table_(table),
      pool_(options.threads == 0 ? default_threads() : options.threads),
      lock_memory_(options.lock_memory) {}

DeviceFacts CpuDevice::facts() const {
  return {.name = fmt::format("CPU, {} thread{}, {}", pool_.size(), pool_.size() == 1 ? "" : "s", table_.name),
          .available_bytes = available_memory_bytes(),
          .weight_bytes = weight_bytes_};
}

StatusOr<WeightHandle> CpuDevice::upload(const WeightSlice& slice) {
  const model::Weight& weight = *slice.weight;
  const bool stored = kernels::panel_format(weight.format, weight.cols).kind == kernels::PanelKind::kStored;
  if (slice.rows == 1) {
    TRY(std::vector<float> values, upload_vector(slice));
    weights_.emplace_back(std::move(values));
  } else {
    TRY(const kernels::PanelMatrix matrix, stored ? upload_stored(slice) : upload_panels(slice));
    weights_.emplace_back(matrix);
  }
  return WeightHandle{static_cast<uint32_t>(weights_.size() - 1)};
}

StatusOr<std::vector<float>> CpuDevice::upload_vector(const WeightSlice& slice) {
  TRY(const SliceBytes bytes, SliceBytes::open(slice));
  std::vector<float> values(slice.weight->cols);
  quant::decode_row(bytes.stored(), 0, 0, values);
  bytes.done();
  weight_bytes_ += values.size() * sizeof(float);
  return values;
}

StatusOr<kernels::PanelMatrix> CpuDevice::upload_panels(const WeightSlice& slice) {
  const model::Weight& weight = *slice.weight;
  kernels::PanelMatrix matrix{
      .format = kernels::panel_format(weight.format, weight.cols), .rows = slice.rows, .cols = weight.cols};
  const uint64_t panel_bytes = kernels::panel_bytes(matrix.format, matrix.cols), step = rows_at_once(slice);
  TRY(const std::span<std::byte> memory, arena_.allocate(matrix.panel_count() * panel_bytes));
  matrix.panels = memory.data();
  weight_bytes_ += memory.size();
  for (uint64_t first = 0; first < slice.rows; first += step) {
    const uint64_t rows = std::min(step, slice.rows - first);
    TRY(const SliceBytes bytes,
        SliceBytes::open({.weight = &weight, .first_row = slice.first_row + first, .rows = rows}));
    const std::span<std::byte> out = memory.subspan(first / kernels::kPanelRows * panel_bytes);
    pool_.for_ranges((rows + kernels::kPanelRows - 1) / kernels::kPanelRows, 1, ThreadPool::Share::kContiguous,
                     [&](uint64_t begin, uint64_t end, uint32_t) {
                       for (uint64_t panel = begin; panel < end; ++panel)
                         kernels::pack_panel(bytes.stored(), panel, out.subspan(panel * panel_bytes, panel_bytes));
                     });
    bytes.done();
  }
  return matrix;
}

StatusOr<std::span<const std::byte>> CpuDevice::copy_part(const std::optional<model::Piece>& piece) {
  if (!piece) return std::span<const std::byte>();
  TRY(const std::span<std::byte> memory, arena_.allocate(piece->range.size_bytes));
  for (uint64_t at = 0; at < memory.size(); at += kUploadBytes) {
    const ByteRange range{piece->range.offset + at, std::min<uint64_t>(kUploadBytes, memory.size() - at)};
    piece->source->will_need(range);
    TRY(piece->source->read(range.offset, memory.subspan(at, range.size_bytes)));
    piece->source->done_with(range);
  }
  weight_bytes_ += memory.size();
  return memory;
}

// All of its parts as they are; only a whole matrix can be taken, since its rows need not lie apart.
StatusOr<kernels::PanelMatrix> CpuDevice::upload_stored(const WeightSlice& slice) {
  const model::Weight& weight = *slice.weight;
  if (slice.rows != weight.rows)
    return absl::UnimplementedError(
        fmt::format("{}: rows of {} can only be taken together", weight.codes.tensor, tensor::describe(weight.format)));
  kernels::PanelMatrix matrix{
      .format = kernels::panel_format(weight.format, weight.cols), .rows = weight.rows, .cols = weight.cols};
  quant::StoredMatrix& stored = matrix.stored;
  stored = {.format = weight.format, .rows = weight.rows, .cols = weight.cols};
  TRY(stored.codes, copy_part(weight.codes));
  TRY(stored.scales, copy_part(weight.scales));
  TRY(stored.offsets, copy_part(weight.offsets));
  TRY(stored.outer_scales, copy_part(weight.outer_scales));
  TRY(stored.scale_table, copy_part(weight.scale_table));
  if (weight.input_order) stored.input_order = shared_order(*weight.input_order);
  return matrix;
}

std::span<const uint32_t> CpuDevice::shared_order(const std::vector<uint32_t>& order) {
  for (const auto& known : input_orders_)
    if (*known == order) return *known;
  input_orders_.push_back(std::make_unique<std::vector<uint32_t>>(order));
  return *input_orders_.back();
}

StatusOr<std::unique_ptr<Program>> CpuDevice::compile(std::vector<Block> blocks, const ProgramOptions& options) {
  if (lock_memory_) TRY(arena_.lock());
  TRY(std::unique_ptr<CpuProgram> program, CpuProgram::create(*this, std::move(blocks), options));
  return std::unique_ptr<Program>(std::move(program));
}

StatusOr<std::unique_ptr<Device>> create_cpu_device(const DeviceOptions& options) {
  if (!options.instruction_set.empty()) TRY(kernels::set_table(options.instruction_set));
  return std::make_unique<CpuDevice>(kernels::table(), options);
}

}  // namespace motley::exec

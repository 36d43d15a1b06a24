#include "exec/cpu/cpu_device.h"

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

// All parts of a slice, opened together and given back together.
class SliceBytes {
 public:
  static StatusOr<SliceBytes> open(const WeightSlice& slice) {
    const model::Weight& weight = *slice.weight;
    TRY(const quant::RowBytes row, quant::row_bytes(weight.format, weight.cols, weight.codes.tensor));
    SliceBytes bytes;
    bytes.stored_ = {
        .format = weight.format, .rows = slice.rows, .cols = weight.cols, .codes = {}, .scales = {}, .biases = {}};
    TRY(bytes.stored_.codes, bytes.add(weight.codes, slice, row.codes));
    if (weight.scales) {
      TRY(bytes.stored_.scales, bytes.add(*weight.scales, slice, row.scales));
    }
    if (weight.biases) {
      TRY(bytes.stored_.biases, bytes.add(*weight.biases, slice, row.biases));
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
  TRY(const SliceBytes bytes, SliceBytes::open(slice));
  const quant::StoredMatrix& stored = bytes.stored();
  if (stored.rows == 1) {
    std::vector<float> values(stored.cols);
    quant::decode_row(stored, 0, 0, values);
    weight_bytes_ += values.size() * sizeof(float);
    weights_.emplace_back(std::move(values));
  } else {
    TRY(const kernels::PanelMatrix matrix, upload_matrix(stored));
    weights_.emplace_back(matrix);
  }
  bytes.done();
  return WeightHandle{static_cast<uint32_t>(weights_.size() - 1)};
}

StatusOr<kernels::PanelMatrix> CpuDevice::upload_matrix(const quant::StoredMatrix& stored) {
  kernels::PanelMatrix matrix{
      .format = kernels::panel_format(stored.format), .rows = stored.rows, .cols = stored.cols, .panels = nullptr};
  const uint64_t panel_bytes = kernels::panel_bytes(matrix.format, matrix.cols);
  TRY(const std::span<std::byte> memory, arena_.allocate(matrix.panel_count() * panel_bytes));
  matrix.panels = memory.data();
  weight_bytes_ += memory.size();
  pool_.for_ranges(matrix.panel_count(), 1, ThreadPool::Share::kContiguous,
                   [&](uint64_t begin, uint64_t end, uint32_t) {
                     for (uint64_t panel = begin; panel < end; ++panel)
                       kernels::pack_panel(stored, panel, memory.subspan(panel * panel_bytes, panel_bytes));
                   });
  return matrix;
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

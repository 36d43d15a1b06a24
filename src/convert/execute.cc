#include "convert/execute.h"

#include <algorithm>
#include <cstring>

namespace motley::convert {
namespace {

// About 1 MiB of f32 a block. GPTQ's zero points of 8 rows share a word, so blocks are multiples of 8 rows.
constexpr uint64_t kBlockNumbers = 256 << 10;
constexpr uint64_t kBlockRows = 8;

uint64_t rows_of_block(const PlannedWeight& weight) {
  const uint64_t rows = kBlockNumbers / std::max<uint64_t>(1, weight.source->cols);
  return std::max<uint64_t>(kBlockRows, rows / kBlockRows * kBlockRows);
}

// The whole weight in a layout that runs down the columns: a block of rows is a strip of each of its lines.
struct Strips {
  std::vector<std::byte> codes, scales, offsets;
};

void put_strip(std::vector<std::byte>& whole, std::span<const std::byte> block, uint64_t lines, uint64_t first_row,
               uint64_t block_rows, uint64_t all_rows) {
  const uint64_t strip_bytes = block.size() / lines, line_bytes = strip_bytes * all_rows / block_rows;
  whole.resize(lines * line_bytes);
  for (uint64_t line = 0; line < lines; ++line)
    std::memcpy(whole.data() + line * line_bytes + first_row * strip_bytes / block_rows,
                block.data() + line * strip_bytes, strip_bytes);
}

class WeightRun {
 public:
  WeightRun(const PlannedWeight& weight, OutputSet* out, ThreadPool& pool) : weight_(weight), out_(out), pool_(pool) {}

  StatusOr<WeightReport> run() {
    TRY(const WeightReader source, WeightReader::open(*weight_.source));
    if (rows_follow(weight_.format)) {
      TRY(row_bytes_, target_row_bytes(weight_));
    }
    const uint64_t step = rows_of_block(weight_), rows = weight_.source->rows;
    for (uint64_t first = 0; first < rows; first += step * pool_.size())
      TRY(run_blocks(source, first, std::min(rows, first + step * pool_.size()), step));
    TRY(write_strips());
    report_.name = weight_.name;
    report_.from = tensor::describe(weight_.source->format);
    report_.to = tensor::describe(weight_.format);
    return std::move(report_);
  }

 private:
  // Blocks of rows [first, end), one a thread, and then their bytes in order.
  Status run_blocks(const WeightReader& source, uint64_t first, uint64_t end, uint64_t step) {
    const uint64_t count = (end - first + step - 1) / step;
    std::vector<StatusOr<RowBlock>> blocks(count, absl::InternalError("not made"));
    pool_.for_ranges(count, 1, ThreadPool::Share::kDynamic, [&](uint64_t begin, uint64_t last, uint32_t) {
      for (uint64_t block = begin; block < last; ++block) {
        const uint64_t row = first + block * step;
        blocks[block] = make_rows(weight_, source, row, std::min(step, end - row));
      }
    });
    for (uint64_t block = 0; block < count; ++block) {
      TRY(blocks[block].status());
      TRY(take(first + block * step, *blocks[block]));
    }
    return absl::OkStatus();
  }

  Status take(uint64_t first_row, const RowBlock& block) {
    report_.difference.add(block.difference);
    report_.bytes += block.bytes.codes.size() + block.bytes.scales.size() + block.bytes.offsets.size();
    if (out_ == nullptr) return absl::OkStatus();
    if (!rows_follow(weight_.format)) {
      keep_strip(first_row, block.bytes);
      return absl::OkStatus();
    }
    TRY(write(weight_.codes, first_row * row_bytes_.codes, block.bytes.codes));
    TRY(write(weight_.scales, first_row * row_bytes_.scales, block.bytes.scales));
    return write(weight_.offsets, first_row * row_bytes_.offsets, block.bytes.offsets);
  }

  void keep_strip(uint64_t first_row, const quant::EncodedMatrix& block) {
    const uint64_t rows = weight_.source->rows, groups = block.cols / weight_.format.group_size;
    put_strip(strips_.codes, block.codes, block.cols / 8, first_row, block.rows, rows);
    put_strip(strips_.scales, block.scales, groups, first_row, block.rows, rows);
    put_strip(strips_.offsets, block.offsets, groups, first_row, block.rows, rows);
  }

  Status write_strips() {
    TRY(write(weight_.codes, 0, strips_.codes));
    TRY(write(weight_.scales, 0, strips_.scales));
    return write(weight_.offsets, 0, strips_.offsets);
  }

  Status write(Place place, uint64_t offset, std::span<const std::byte> bytes) {
    if (bytes.empty()) return absl::OkStatus();
    return out_->write({.file = place.file, .offset = place.offset + offset}, bytes);
  }

  const PlannedWeight& weight_;
  OutputSet* out_;
  ThreadPool& pool_;
  quant::RowBytes row_bytes_;
  Strips strips_;
  WeightReport report_;
};

}  // namespace

StatusOr<std::vector<WeightReport>> execute(const Plan& plan, OutputSet* out, ThreadPool& pool,
                                            const OnProgress& on_progress) {
  uint64_t total_bytes = 0, done_bytes = 0;
  for (const PlannedWeight& weight : plan.weights) total_bytes += weight.source->stored_bytes();
  std::vector<WeightReport> reports;
  for (const PlannedWeight& weight : plan.weights) {
    TRY(on_progress(done_bytes, total_bytes));
    TRY(WeightReport report, WeightRun(weight, out, pool).run());
    reports.push_back(std::move(report));
    done_bytes += weight.source->stored_bytes();
  }
  return reports;
}

}  // namespace motley::convert

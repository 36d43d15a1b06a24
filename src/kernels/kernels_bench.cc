// Speed of the matmul slots: decode (weights from memory, GB/s and the share of the read bandwidth measured here) and
// prefill (weights from the cache, Gop/s; one multiply-add counts as two operations).
//   kernels_bench --benchmark_filter='decode/.*/threads:2'
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <thread>

#include "benchmark/benchmark.h"
#include "fmt/format.h"
#include "kernels/testing.h"

namespace motley::kernels {
namespace {

using quant::StorageFormat;
using tensor::StorageKind;
using testing::Random;

// Far more than any last-level cache of the machines at hand; a pass reads one slice after the other, so that none is
// still cached.
constexpr uint64_t kDecodeBytes = uint64_t{256} << 20;
constexpr uint64_t kSlices = 16;

template <typename Work>
void on_threads(uint32_t threads, const Work& work) {
  std::vector<std::jthread> others;
  for (uint32_t i = 1; i < threads; ++i) others.emplace_back([&work, i] { work(i); });
  work(0);
}

PanelRange share(PanelRange all, uint64_t index, uint64_t parts) {
  const uint64_t count = all.end - all.begin;
  return {all.begin + count * index / parts, all.begin + count * (index + 1) / parts};
}

double seconds_of(const auto& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Best of three passes over the slices, plain 64-byte reads.
double read_seconds(std::span<const std::byte> bytes, uint32_t threads) {
  double best = 1e9;
  for (uint64_t slice = 0; slice < 3 * kSlices; ++slice) {
    const PanelRange lines = share({0, bytes.size() / 64}, slice % kSlices, kSlices);
    best = std::min(best, seconds_of([&] {
                      on_threads(threads, [&](uint32_t index) {
                        const PanelRange mine = share(lines, index, threads);
                        uint64_t sums[8] = {};
                        for (uint64_t line = mine.begin; line < mine.end; ++line)
                          for (int i = 0; i < 8; ++i)
                            sums[i] += reinterpret_cast<const uint64_t*>(bytes.data() + line * 64)[i];
                        benchmark::DoNotOptimize(sums);
                      });
                    }));
  }
  return best;
}

enum class Arithmetic : uint8_t { kExact, kFast };

struct Case {
  const KernelTable* table;
  StorageFormat format;
  uint64_t rows, cols;  // rows 0: kDecodeBytes of them, in slices
  uint32_t tokens, threads;
  Arithmetic arithmetic;
};

void run_once(const Case& c, const PanelMatrix& w, const testing::Activations& x, PanelRange panels,
              const OutputRows& y) {
  on_threads(c.threads, [&](uint32_t index) {
    const PanelRange range = share(panels, index, c.threads);
    if (c.arithmetic == Arithmetic::kFast && w.format.activation_group() != 0)
      c.table->matmul_fast(w, x.quantized(), range, y);
    else
      c.table->matmul_exact(w, x.floats(), range, y);
  });
}

// A matrix of one panel's random rows, repeated.
testing::Panels repeated(const StorageFormat& format, uint64_t rows, uint64_t cols) {
  Random random(1);
  quant::EncodedMatrix matrix = testing::random_matrix(format, kPanelRows, cols, random);
  const auto repeat = [&](std::vector<std::byte>& part) {
    const std::vector<std::byte> once = part;
    part.clear();
    for (uint64_t i = 0; i < rows / kPanelRows; ++i) part.insert(part.end(), once.begin(), once.end());
  };
  repeat(matrix.codes), repeat(matrix.scales), repeat(matrix.offsets);
  matrix.rows = rows;
  return testing::Panels(matrix.view());
}

// Reports the fastest iteration: a shared machine adds time, never takes any away.
void run_case(benchmark::State& state, Case c) {
  const PanelFormat format = panel_format(c.format, c.cols);
  const uint64_t row_bytes = quant::part_bytes(c.format, kPanelRows, c.cols, "bench").value().total() / kPanelRows;
  const bool decode = c.rows == 0;
  if (decode) c.rows = kDecodeBytes / row_bytes / (kPanelRows * kSlices) * (kPanelRows * kSlices);
  const testing::Panels panels = repeated(c.format, c.rows, c.cols);
  Random random(2);
  const testing::Activations x(*c.table, format, c.cols, c.tokens,
                               testing::random_activations(c.tokens * c.cols, random));
  std::vector<float> y(c.tokens * c.rows);
  const uint64_t slices = decode ? kSlices : 1;
  uint64_t slice = 0;
  double best = 1e9;
  for (auto _ : state) {
    const PanelRange range = share({0, panels.matrix().panel_count()}, slice++ % slices, slices);
    best = std::min(best, seconds_of([&] { run_once(c, panels.matrix(), x, range, {y.data(), c.rows}); }));
  }
  const uint64_t slice_rows = c.rows / slices;
  const auto bytes = static_cast<double>(slice_rows * row_bytes);
  state.counters["GB/s"] = bytes / best * 1e-9;
  state.counters["Gop/s"] = 2e-9 * static_cast<double>(slice_rows * c.cols * c.tokens) / best;
  const PanelMatrix& matrix = panels.matrix();
  const std::byte* first_byte = matrix.panels == nullptr ? matrix.stored.codes.data() : matrix.panels;
  if (decode) state.counters["of_read"] = read_seconds({first_byte, c.rows * row_bytes}, c.threads) / best;
}

void add_case(std::string_view kind, std::string_view format_name, const Case& c) {
  const std::string name =
      fmt::format("{}/{}/{}/{}/K:{}/tokens:{}/threads:{}", kind, c.table->name,
                  c.arithmetic == Arithmetic::kFast ? "fast" : "exact", format_name, c.cols, c.tokens, c.threads);
  benchmark::RegisterBenchmark(name.c_str(), [c](benchmark::State& state) { run_case(state, c); })
      ->UseRealTime()
      ->Unit(benchmark::kMicrosecond);
}

StorageFormat gguf(StorageKind kind) { return {.kind = kind, .bits = 0, .group_size = 0, .scale_dtype = DType::kF32}; }
StorageFormat mlx(uint8_t bits) {
  return {.kind = StorageKind::kMlxAffine, .bits = bits, .group_size = 64, .scale_dtype = DType::kF16};
}

void add_all() {
  const std::map<std::string, StorageFormat> formats = {{"q4_0", gguf(StorageKind::kQ4_0)},
                                                        {"q4_1", gguf(StorageKind::kQ4_1)},
                                                        {"q8_0", gguf(StorageKind::kQ8_0)},
                                                        {"q6_k", gguf(StorageKind::kQ6_K)},
                                                        {"f16", gguf(StorageKind::kF16)},
                                                        {"bf16", gguf(StorageKind::kBF16)},
                                                        {"mlx2", mlx(2)},
                                                        {"mlx3", mlx(3)},
                                                        {"mlx4", mlx(4)},
                                                        {"mlx5", mlx(5)},
                                                        {"mlx6", mlx(6)},
                                                        {"mlx8", mlx(8)}};
  for (const KernelTable* table : all_tables()) {
    if (!table->supported() || table->name == "scalar") continue;
    for (const auto& [name, format] : formats)
      for (Arithmetic arithmetic : {Arithmetic::kFast, Arithmetic::kExact})
        for (uint32_t threads : {1u, 2u}) {
          for (uint32_t tokens : {1u, 2u, 4u, 8u})
            add_case("decode", name, {table, format, 0, 2048, tokens, threads, arithmetic});
          for (uint64_t cols : {768u, 2048u})
            add_case("prefill", name, {table, format, 256, cols, 512, threads, arithmetic});
        }
  }
}

}  // namespace
}  // namespace motley::kernels

int main(int argc, char** argv) {
  motley::kernels::add_all();
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

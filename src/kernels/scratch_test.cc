// No kernel may make a decoded copy of a matrix: beside its tile on the stack, a product may take memory for its
// results only. This file replaces operator new for its whole test program, to see what is asked for.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <new>

#include "kernels/stored_panels.h"
#include "kernels/tables_under_test.h"
#include "kernels/testing.h"

namespace {

std::atomic<size_t> allocated_bytes = 0;

void* counted(size_t size) {
  allocated_bytes += size;
  void* memory = std::malloc(size);
  if (memory == nullptr) std::abort();
  return memory;
}

}  // namespace

void* operator new(size_t size) { return counted(size); }
void* operator new[](size_t size) { return counted(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t) noexcept { std::free(memory); }

namespace motley::kernels {
namespace {

static_assert(sizeof(IntegerTile) <= 11 << 10);  // docs/formats.md: 8 KiB of integers and 2 KiB of scales and biases
static_assert(kStoredTileCols * kPanelRows * sizeof(float) <= 16 << 10);

class ScratchTest : public ::testing::TestWithParam<const KernelTable*> {};

// Results of 5 tokens and 16 rows, twice, and the int8 planes of the activations; a decoded matrix would be 4 bytes for
// each of its numbers.
TEST_P(ScratchTest, AProductNeverDecodesTheMatrix) {
  constexpr uint64_t kRows = 64;
  constexpr uint32_t kTokens = 5;
  testing::Random random(3);
  for (const quant::StorageFormat& format : testing::all_formats()) {
    const uint64_t cols = testing::smallest_cols(format) * (1024 / testing::smallest_cols(format));
    const testing::Panels panels(testing::random_matrix(format, kRows, cols, random).view());
    const PanelMatrix& matrix = panels.matrix();
    const testing::Activations x(*all_tables().front(), matrix.format, cols, kTokens,
                                 testing::random_activations(kTokens * cols, random));
    std::vector<float> y(kTokens * kRows);
    const size_t before = allocated_bytes;
    GetParam()->matmul_exact(matrix, x.floats(), {0, matrix.panel_count()}, {y.data(), kRows});
    if (matrix.format.activation_group() != 0)
      GetParam()->matmul_fast(matrix, x.quantized(), {0, matrix.panel_count()}, {y.data(), kRows});
    const size_t results = 3 * kTokens * kPanelRows * sizeof(float), planes = 4 * kTokens * cols;
    EXPECT_LE(allocated_bytes - before, results + planes) << tensor::describe(format);
  }
}

INSTANTIATE_TEST_SUITE_P(Sets, ScratchTest, ::testing::ValuesIn(tables_under_test()),
                         [](const auto& table) { return std::string(table.param->name); });

}  // namespace
}  // namespace motley::kernels

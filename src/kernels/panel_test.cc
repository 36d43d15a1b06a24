// Panels against the definition in panel.h, written here a second time bit by bit, and against the decoders of quant.
#include "kernels/panel.h"

#include <cstring>

#include "gtest/gtest.h"
#include "kernels/testing.h"

namespace motley::kernels {
namespace {

using quant::StorageFormat;
using quant::StoredMatrix;
using tensor::StorageKind;
using testing::Random;

// What the naive packer knows of a matrix: its codes, and for each group and row the bytes of scale, bias or element.
class NaivePacker {
 public:
  NaivePacker(const StoredMatrix& stored, uint64_t first) : stored_(stored), first_(first) {}

  std::vector<std::byte> pack() {
    const StorageKind kind = stored_.format.kind;
    switch (kind) {
      case StorageKind::kF32:
        floats(4);
        break;
      case StorageKind::kF16:
      case StorageKind::kBF16:
        floats(2);
        break;
      case StorageKind::kQ4_0:
        gguf(4, 18, 2, 0);
        break;
      case StorageKind::kQ4_1:
        gguf(4, 20, 2, 2);
        break;
      case StorageKind::kQ8_0:
        gguf(8, 34, 2, 0);
        break;
      case StorageKind::kQ6_K:
        q6_k();
        break;
      case StorageKind::kMlxAffine:
        mlx();
        break;
      default:  // stored as it is
        break;
    }
    return out_;
  }

 private:
  // Bytes [at, at + size) of a part's row, or zeros past the last row of the matrix.
  void copy(std::span<const std::byte> part, uint64_t row_bytes, uint64_t row, uint64_t at, uint64_t size) {
    for (uint64_t i = 0; i < size; ++i)
      out_.push_back(row < stored_.rows ? part[row * row_bytes + at + i] : std::byte{0});
  }

  uint32_t code(uint64_t row, uint64_t k) {
    if (row >= stored_.rows) return 0;
    if (codes_.empty()) codes_.resize(stored_.rows);
    if (codes_[row].empty()) codes_[row].resize(stored_.cols), quant::decode_codes(stored_, row, codes_[row]);
    return codes_[row][k];
  }

  // "A plane of width p is p 64-byte vectors; vector v, byte 4*row + j, bits [p*i, p*i+p) hold input 4*(i + (8/p)*v) +
  // j."
  void plane(uint64_t k0, uint32_t p, uint32_t shift) {
    for (uint32_t v = 0; v < p; ++v)
      for (uint32_t row = 0; row < 16; ++row)
        for (uint32_t j = 0; j < 4; ++j) {
          uint32_t byte = 0;
          for (uint32_t i = 0; i < 8 / p; ++i)
            for (uint32_t bit = 0; bit < p; ++bit)
              byte |= (code(first_ + row, k0 + 4 * (i + 8 / p * v) + j) >> (shift + bit) & 1) << (p * i + bit);
          out_.push_back(static_cast<std::byte>(byte));
        }
  }

  void chunk(uint64_t k0, uint32_t bits) {
    uint32_t shift = 0;
    for (uint32_t p : {8u, 4u, 2u, 1u})
      if (bits - shift >= p) plane(k0, p, shift), shift += p;
  }

  void floats(uint64_t size) {
    for (uint64_t k = 0; k < stored_.cols; ++k)
      for (uint32_t row = 0; row < 16; ++row) copy(stored_.codes, stored_.cols * size, first_ + row, k * size, size);
  }

  void gguf(uint32_t bits, uint64_t block, uint64_t scale_bytes, uint64_t offset_bytes) {
    const uint64_t row_bytes = stored_.cols / 32 * block;
    for (uint64_t g = 0; g < stored_.cols / 32; ++g) {
      chunk(g * 32, bits);
      for (uint32_t row = 0; row < 16; ++row) copy(stored_.codes, row_bytes, first_ + row, g * block, scale_bytes);
      for (uint32_t row = 0; row < 16; ++row) copy(stored_.codes, row_bytes, first_ + row, g * block + 2, offset_bytes);
    }
  }

  void q6_k() {
    const uint64_t row_bytes = stored_.cols / 256 * 210;
    for (uint64_t b = 0; b < stored_.cols / 256; ++b) {
      for (uint64_t c = 0; c < 8; ++c) chunk(b * 256 + c * 32, 6);
      for (uint64_t g = 0; g < 16; ++g)
        for (uint32_t row = 0; row < 16; ++row) copy(stored_.codes, row_bytes, first_ + row, b * 210 + 192 + g, 1);
      for (uint32_t row = 0; row < 16; ++row) copy(stored_.codes, row_bytes, first_ + row, b * 210 + 208, 2);
    }
  }

  void mlx() {
    const uint64_t group = stored_.format.group_size, groups = stored_.cols / group;
    const uint64_t size = tensor::size_bytes(stored_.format.scale_dtype);
    for (uint64_t g = 0; g < groups; ++g) {
      for (uint64_t c = 0; c < group / 32; ++c) chunk(g * group + c * 32, stored_.format.bits);
      for (uint32_t row = 0; row < 16; ++row) copy(stored_.scales, groups * size, first_ + row, g * size, size);
      for (uint32_t row = 0; row < 16; ++row) copy(stored_.offsets, groups * size, first_ + row, g * size, size);
    }
  }

  StoredMatrix stored_;
  uint64_t first_;
  std::vector<std::vector<uint8_t>> codes_;
  std::vector<std::byte> out_;
};

class PanelTest : public ::testing::TestWithParam<StorageFormat> {
 protected:
  Random random_{7};
};

TEST_P(PanelTest, BytesAreTheOnesOfTheDefinition) {
  const uint64_t cols = testing::smallest_cols(GetParam()) * 3;
  const quant::EncodedMatrix encoded = testing::random_matrix(GetParam(), 37, cols, random_);
  const testing::Panels panels(encoded.view());
  if (panels.matrix().format.kind == PanelKind::kStored) return;  // has no panels
  for (uint64_t p = 0; p < panels.matrix().panel_count(); ++p) {
    const std::vector<std::byte> expected = NaivePacker(encoded.view(), p * 16).pack();
    ASSERT_EQ(expected.size(), panel_bytes(panels.matrix().format, cols));
    EXPECT_EQ(0, std::memcmp(expected.data(), panels.matrix().panel(p), expected.size())) << "panel " << p;
  }
}

TEST_P(PanelTest, ARowDecodesToWhatItsCheckpointSays) {
  const uint64_t cols = testing::smallest_cols(GetParam()) * 5;
  const quant::EncodedMatrix encoded = testing::random_matrix(GetParam(), 21, cols, random_);
  const testing::Panels panels(encoded.view());
  std::vector<float> expected(cols), got(cols);
  for (uint64_t row = 0; row < encoded.rows; ++row) {
    quant::decode_row(encoded.view(), row, 0, expected);
    decode_panel_row(panels.matrix(), row, got);
    EXPECT_EQ(0, std::memcmp(expected.data(), got.data(), cols * sizeof(float))) << "row " << row;
  }
}

TEST_P(PanelTest, APanelHasExactlyTheBytesOfItsRows) {
  const uint64_t cols = testing::smallest_cols(GetParam()) * 4;
  const quant::EncodedMatrix encoded = testing::random_matrix(GetParam(), 16, cols, random_);
  EXPECT_EQ(matrix_bytes(testing::Panels(encoded.view()).matrix()),
            quant::part_bytes(GetParam(), 16, cols, "test").value().total());
}

std::string test_name(const ::testing::TestParamInfo<StorageFormat>& info) {
  std::string name = tensor::describe(info.param);
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(AllFormats, PanelTest, ::testing::ValuesIn(testing::all_formats()), test_name);

}  // namespace
}  // namespace motley::kernels

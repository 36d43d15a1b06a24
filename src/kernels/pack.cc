// Rows of a checkpoint to panels. Each storage format says where a chunk's codes and a group's scales lie; the
// interleaving is shared. Loading a model runs this over every byte, so the inner loops are plain byte loops over fixed
// sizes, which compilers vectorise.
#include <algorithm>
#include <array>
#include <cstring>

#include "kernels/panel_layout.h"

namespace motley::kernels {
namespace {

using quant::StoredMatrix;
using tensor::StorageKind;

// 32 inputs of each of 16 rows, one byte a code.
using ChunkCodes = std::array<std::array<uint8_t, kChunkCols>, kPanelRows>;

// The rows of one panel; rows past the end of the matrix are absent.
struct PanelRows {
  const StoredMatrix& stored;
  uint64_t first = 0;
  uint32_t count = 0;
};

// --- codes of one chunk
// -----------------------------------------------------------------------------------------------------

void nibble_codes(const std::byte* bytes, std::array<uint8_t, kChunkCols>& codes) {
  for (size_t j = 0; j < 16; ++j) {
    codes[j] = std::to_integer<uint8_t>(bytes[j]) & 15;
    codes[j + 16] = static_cast<uint8_t>(std::to_integer<uint8_t>(bytes[j]) >> 4);
  }
}

// Eight codes of kBits from a little-endian bit stream: they fill kBits bytes.
template <uint32_t kBits>
void stream_codes(const std::byte* bytes, std::array<uint8_t, kChunkCols>& codes) {
  for (size_t eight = 0; eight < 4; ++eight) {
    uint64_t window = 0;
    std::memcpy(&window, bytes + eight * kBits, kBits);
    for (size_t i = 0; i < 8; ++i)
      codes[eight * 8 + i] = static_cast<uint8_t>(window >> (kBits * i) & ((1u << kBits) - 1));
  }
}

void stream_codes(uint32_t bits, const std::byte* bytes, std::array<uint8_t, kChunkCols>& codes) {
  switch (bits) {
    case 2:
      return stream_codes<2>(bytes, codes);
    case 3:
      return stream_codes<3>(bytes, codes);
    case 4:
      return stream_codes<4>(bytes, codes);
    case 5:
      return stream_codes<5>(bytes, codes);
    case 6:
      return stream_codes<6>(bytes, codes);
    default:
      std::memcpy(codes.data(), bytes, kChunkCols);
  }
}

void q8_0_codes(const std::byte* bytes, std::array<uint8_t, kChunkCols>& codes) {
  for (size_t j = 0; j < kChunkCols; ++j) codes[j] = std::to_integer<uint8_t>(bytes[j]) ^ 0x80u;
}

// Chunk `run` of a half of a Q6_K block (see quant/codec_q6_k.cc).
void q6_k_codes(const std::byte* block, uint32_t chunk, std::array<uint8_t, kChunkCols>& codes) {
  const uint32_t half = chunk / 4, run = chunk % 4;
  const std::byte* low = block + 64 * half + 32 * (run % 2);
  const std::byte* high = block + 128 + 32 * half;
  const uint32_t low_shift = 4 * (run / 2), high_shift = 2 * run;
  for (size_t j = 0; j < kChunkCols; ++j) {
    const uint32_t low_bits = std::to_integer<uint32_t>(low[j]) >> low_shift & 15;
    codes[j] = static_cast<uint8_t>(low_bits | (std::to_integer<uint32_t>(high[j]) >> high_shift & 3) << 4);
  }
}

// --- interleaving
// -----------------------------------------------------------------------------------------------------------

using Quads = std::array<std::array<uint8_t, kVectorBytes>, kQuadsPerChunk>;

Quads interleave(const ChunkCodes& codes) {
  Quads quads;
  for (size_t row = 0; row < kPanelRows; ++row)
    for (size_t quad = 0; quad < kQuadsPerChunk; ++quad) std::memcpy(&quads[quad][4 * row], &codes[row][4 * quad], 4);
  return quads;
}

// Bits [kShift, kShift + kWidth) of every code to the kWidth vectors of a plane.
template <uint32_t kWidth, uint32_t kShift>
void write_plane(const Quads& quads, std::byte* out) {
  constexpr uint32_t kPerByte = 8 / kWidth;
  constexpr uint32_t kMask = (1u << kWidth) - 1;
  for (uint32_t vector = 0; vector < kWidth; ++vector) {
    std::array<uint8_t, kVectorBytes> packed{};
    for (uint32_t i = 0; i < kPerByte; ++i)
      for (uint32_t byte = 0; byte < kVectorBytes; ++byte)
        packed[byte] |= static_cast<uint8_t>((quads[vector * kPerByte + i][byte] >> kShift & kMask) << (kWidth * i));
    std::memcpy(out + vector * kVectorBytes, packed.data(), kVectorBytes);
  }
}

void write_chunk(const ChunkCodes& codes, uint32_t bits, std::byte* out) {
  const Quads quads = interleave(codes);
  switch (bits) {
    case 2:
      return write_plane<2, 0>(quads, out);
    case 3:
      return write_plane<2, 0>(quads, out), write_plane<1, 2>(quads, out + 2 * kVectorBytes);
    case 4:
      return write_plane<4, 0>(quads, out);
    case 5:
      return write_plane<4, 0>(quads, out), write_plane<1, 4>(quads, out + 4 * kVectorBytes);
    case 6:
      return write_plane<4, 0>(quads, out), write_plane<2, 4>(quads, out + 4 * kVectorBytes);
    default:
      return write_plane<8, 0>(quads, out);
  }
}

// --- one packer a kind
// ------------------------------------------------------------------------------------------------------

template <typename Element>
void pack_elements(const PanelRows& rows, std::byte* out) {
  const uint64_t cols = rows.stored.cols;
  // Sixteen columns at a time: a cache line or two of each row meets as many of the panel.
  for (uint64_t begin = 0; begin < cols; begin += 16)
    for (uint32_t row = 0; row < rows.count; ++row) {
      const std::byte* from = rows.stored.codes.data() + ((rows.first + row) * cols) * sizeof(Element);
      for (uint64_t k = begin; k < std::min(begin + 16, cols); ++k)
        std::memcpy(out + (k * kPanelRows + row) * sizeof(Element), from + k * sizeof(Element), sizeof(Element));
    }
}

// GGUF blocks of 32 inputs: `head` bytes of scale (and offset), then codes.
struct BlockShape {
  uint32_t head = 0, bytes = 0;
};

template <void (*kCodes)(const std::byte*, std::array<uint8_t, kChunkCols>&)>
void pack_gguf(const PanelRows& rows, const BlockShape& shape, const PanelFormat& format, std::byte* out) {
  const uint64_t groups = rows.stored.cols / kChunkCols;
  const IntegerBlock layout = integer_block(format);
  ChunkCodes codes{};
  for (uint64_t group = 0; group < groups; ++group, out += layout.bytes) {
    for (uint32_t row = 0; row < rows.count; ++row) {
      const std::byte* block = rows.stored.codes.data() + ((rows.first + row) * groups + group) * shape.bytes;
      kCodes(block + shape.head, codes[row]);
      std::memcpy(out + layout.scales_at + 2 * row, block, 2);
      if (shape.head == 4) std::memcpy(out + layout.biases_at + 2 * row, block + 2, 2);
    }
    write_chunk(codes, format.bits, out);
  }
}

void pack_mlx(const PanelRows& rows, const PanelFormat& format, std::byte* out) {
  const StoredMatrix& stored = rows.stored;
  const uint64_t groups = stored.cols / format.group_size;
  const uint32_t row_chunk_bytes = kChunkCols * format.bits / 8;
  const uint64_t row_bytes = stored.cols * format.bits / 8;
  const size_t scale_bytes = tensor::size_bytes(format.dtype);
  const IntegerBlock layout = integer_block(format);
  const uint32_t chunks = format.group_size / kChunkCols;
  ChunkCodes codes{};
  for (uint64_t group = 0; group < groups; ++group, out += layout.bytes) {
    for (uint32_t chunk = 0; chunk < chunks; ++chunk) {
      for (uint32_t row = 0; row < rows.count; ++row)
        stream_codes(format.bits,
                     stored.codes.data() + (rows.first + row) * row_bytes + (group * chunks + chunk) * row_chunk_bytes,
                     codes[row]);
      write_chunk(codes, format.bits, out + chunk * chunk_bytes(format.bits));
    }
    for (uint32_t row = 0; row < rows.count; ++row) {
      const uint64_t at = ((rows.first + row) * groups + group) * scale_bytes;
      std::memcpy(out + layout.scales_at + row * scale_bytes, stored.scales.data() + at, scale_bytes);
      std::memcpy(out + layout.biases_at + row * scale_bytes, stored.offsets.data() + at, scale_bytes);
    }
  }
}

void pack_q6_k(const PanelRows& rows, std::byte* out) {
  constexpr uint32_t kBlockBytes = 210, kScalesAt = 192, kScaleAt = 208;
  const uint64_t blocks = rows.stored.cols / kSuperBlockCols;
  ChunkCodes codes{};
  for (uint64_t b = 0; b < blocks; ++b, out += kSuperBytes) {
    const auto block_of = [&](uint32_t row) {
      return rows.stored.codes.data() + ((rows.first + row) * blocks + b) * kBlockBytes;
    };
    for (uint32_t chunk = 0; chunk < kSuperBlockCols / kChunkCols; ++chunk) {
      for (uint32_t row = 0; row < rows.count; ++row) q6_k_codes(block_of(row), chunk, codes[row]);
      write_chunk(codes, 6, out + chunk * chunk_bytes(6));
    }
    for (uint32_t row = 0; row < rows.count; ++row) {
      for (uint32_t g = 0; g < kSuperGroups; ++g)
        out[kSuperScalesAt + g * kPanelRows + row] = block_of(row)[kScalesAt + g];
      std::memcpy(out + kSuperScaleAt + 2 * row, block_of(row) + kScaleAt, 2);
    }
  }
}

}  // namespace

void pack_panel(const StoredMatrix& stored, uint64_t panel, std::span<std::byte> out) {
  const PanelFormat format = panel_format(stored.format, stored.cols);
  const uint64_t first = panel * kPanelRows;
  const PanelRows rows{stored, first, static_cast<uint32_t>(std::min<uint64_t>(kPanelRows, stored.rows - first))};
  if (rows.count < kPanelRows) std::memset(out.data(), 0, out.size());
  switch (stored.format.kind) {
    case StorageKind::kF32:
      return pack_elements<uint32_t>(rows, out.data());
    case StorageKind::kF16:
    case StorageKind::kBF16:
      return pack_elements<uint16_t>(rows, out.data());
    case StorageKind::kMlxAffine:
      return pack_mlx(rows, format, out.data());
    case StorageKind::kQ4_0:
      return pack_gguf<nibble_codes>(rows, {.head = 2, .bytes = 18}, format, out.data());
    case StorageKind::kQ4_1:
      return pack_gguf<nibble_codes>(rows, {.head = 4, .bytes = 20}, format, out.data());
    case StorageKind::kQ8_0:
      return pack_gguf<q8_0_codes>(rows, {.head = 2, .bytes = 34}, format, out.data());
    case StorageKind::kQ6_K:
      return pack_q6_k(rows, out.data());
    default:
      return;  // stored as it is
  }
}

}  // namespace motley::kernels

#include "exec/cpu/attention.h"

#include <algorithm>
#include <cstring>

namespace motley::exec {
namespace {

// Query rows of a tile: enough to use each key and value that was read many times, few enough that the scores of a long
// context stay in the second-level cache.
constexpr uint32_t kMaxTileRows = 32;
constexpr uint32_t kMaxTileScores = 128 * 1024;  // 512 KiB of f32

uint32_t tile_rows_for(uint32_t keys) { return std::clamp(kMaxTileScores / std::max(keys, 1u), 1u, kMaxTileRows); }

struct Tile {
  const StepSequence* sequence = nullptr;
  uint32_t kv_head = 0;
  uint32_t first = 0;  // token of the row
  uint32_t count = 0;  // tokens
};

std::vector<Tile> cut_tiles(std::span<const StepSequence> sequences, const model::SoftmaxAttention& attention) {
  const uint32_t heads_per_kv = attention.heads / attention.kv_heads;
  std::vector<Tile> tiles;
  for (const StepSequence& sequence : sequences) {
    const uint32_t keys = sequence.row->position + sequence.row->count;
    const uint32_t tokens = std::max(tile_rows_for(keys) / heads_per_kv, 1u);
    for (uint32_t first = 0; first < sequence.row->count; first += tokens)
      for (uint32_t kv_head = 0; kv_head < attention.kv_heads; ++kv_head)
        tiles.push_back({.sequence = &sequence,
                         .kv_head = kv_head,
                         .first = first,
                         .count = std::min(tokens, sequence.row->count - first)});
  }
  return tiles;
}

// Keys and values, for each token.
uint64_t bytes_read(const KvCache& kv, std::span<const StepSequence> sequences,
                    const model::SoftmaxAttention& attention) {
  uint64_t positions = 0;
  for (const StepSequence& sequence : sequences)
    positions += uint64_t{sequence.row->count} * (sequence.row->position + sequence.row->count);
  return positions * 2 * attention.kv_heads * attention.head_dim * tensor::size_bytes(kv.dtype());
}

// One tile: its query rows are gathered (heads of a group lie side by side, tokens do not), attended and put back.
class TileRun {
 public:
  TileRun(const CpuContext& cpu, const KvCache& kv, const AttentionStep& step, const Tile& tile,
          std::span<float> scratch)
      : cpu_(cpu),
        kv_(kv),
        step_(step),
        tile_(tile),
        heads_per_kv_(step.attention.heads / step.attention.kv_heads),
        rows_(tile.count * heads_per_kv_),
        group_floats_(size_t{heads_per_kv_} * step.attention.head_dim),
        scratch_(scratch) {}

  void run() {
    std::vector<float> queries(rows_ * size_t{step_.attention.head_dim}), out(queries.size());
    for (uint32_t token = 0; token < tile_.count; ++token)
      std::memcpy(&queries[token * group_floats_], step_.q + offset(token), group_floats_ * sizeof(float));
    attend(queries.data(), out.data());
    for (uint32_t token = 0; token < tile_.count; ++token)
      std::memcpy(step_.out + offset(token), &out[token * group_floats_], group_floats_ * sizeof(float));
  }

 private:
  // Where the tile's heads of one token lie in [T, heads*D].
  size_t offset(uint32_t token) const {
    const size_t width = size_t{step_.attention.heads} * step_.attention.head_dim;
    return (tile_.sequence->first_token + tile_.first + token) * width + tile_.kv_head * group_floats_;
  }

  void attend(const float* queries, float* out) {
    std::vector<uint32_t> begin(rows_), end(rows_);
    for (uint32_t row = 0; row < rows_; ++row) {
      const uint32_t position = tile_.sequence->row->position + tile_.first + row / heads_per_kv_;
      const uint32_t window = step_.attention.window.value_or(position + 1);
      end[row] = position + 1;
      begin[row] = position + 1 > window ? position + 1 - window : 0;
    }
    std::vector<const std::byte*> keys, values;
    for (const kv::PageId page : tile_.sequence->pages->pages()) {
      keys.push_back(kv_.keys(page, step_.block, tile_.kv_head));
      values.push_back(kv_.values(page, step_.block, tile_.kv_head));
    }
    cpu_.table.attention({.queries = queries,
                          .query_stride = step_.attention.head_dim,
                          .begin = begin.data(),
                          .end = end.data(),
                          .rows = rows_,
                          .head_dim = step_.attention.head_dim,
                          .scale = step_.attention.scale,
                          .kv_dtype = kv_.dtype(),
                          .key_pages = keys.data(),
                          .value_pages = values.data(),
                          .out = out,
                          .out_stride = step_.attention.head_dim,
                          .scratch = scratch_.data()});
  }

  const CpuContext& cpu_;
  const KvCache& kv_;
  const AttentionStep& step_;
  const Tile& tile_;
  uint32_t heads_per_kv_;
  uint32_t rows_;
  size_t group_floats_;
  std::span<float> scratch_;
};

}  // namespace

uint64_t attention_tile_floats(uint32_t heads_per_kv, uint32_t context_tokens) {
  return kernels::attention_scratch_floats(std::max(kMaxTileRows, heads_per_kv), context_tokens);
}

void run_attention(const CpuContext& cpu, const KvCache& kv, std::span<const StepSequence> sequences,
                   const AttentionStep& step, float* scratch, uint64_t scratch_floats_per_thread) {
  const std::vector<Tile> tiles = cut_tiles(sequences, step.attention);
  const bool shared = bytes_read(kv, sequences, step.attention) >= kBytesWorthSharing;
  cpu.pool.for_ranges(tiles.size(), shared ? 1 : tiles.size(), ThreadPool::Share::kDynamic,
                      [&](uint64_t begin, uint64_t end, uint32_t thread) {
                        for (uint64_t tile = begin; tile < end; ++tile)
                          TileRun(cpu, kv, step, tiles[tile],
                                  {scratch + thread * scratch_floats_per_thread, scratch_floats_per_thread})
                              .run();
                      });
}

}  // namespace motley::exec

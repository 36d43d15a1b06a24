// Blocks compiled for the CPU, with the buffers of a step and the KV cache. forward.cc has the arithmetic, in reading
// order.
#pragma once

#include <memory>
#include <vector>

#include "exec/cpu/activations.h"
#include "exec/cpu/kv_cache.h"
#include "exec/device.h"

namespace motley::exec {

class CpuDevice;

// Everything a step writes besides the KV cache. Sized for max_step_tokens at compile time, resident only as far as
// used.
struct StepBuffers {
  // Widths of the widest block: H, heads*D, kv_heads*D, F, V.
  struct Widths {
    uint32_t hidden = 0, q = 0, kv = 0, feed_forward = 0, vocabulary = 0;
  };
  // Orders of columns that the matrices behind normed, attended and gated want.
  struct Orders {
    std::vector<std::span<const uint32_t>> hidden, q, feed_forward;
  };
  static StatusOr<StepBuffers> create(const Widths& widths, const Orders& orders, uint32_t max_tokens);

  MemoryBlock memory;
  float* stream = nullptr;  // [T, H] the residual stream
  float* delta = nullptr;   // [T, H] what a half-layer adds to it
  float* q = nullptr;       // [T, heads*D]
  float* k = nullptr;       // [T, kv_heads*D]
  float* v = nullptr;       // [T, kv_heads*D]
  float* up = nullptr;      // [T, F]
  float* logits = nullptr;  // [outputs, V]
  Activations normed;       // [T, H]
  Activations attended;     // [T, heads*D]
  Activations gated;        // [T, F]
};

// Angles of one Rope for the tokens of a step: cos and sin [T, rotary/2].
struct RopeTable {
  model::Rope rope;
  model::RopeFrequencies frequencies;
  std::vector<float> cos, sin;
};

// One row of a step with its pages looked up.
struct StepSequence {
  const StageRow* row = nullptr;
  uint32_t first_token = 0;  // of this row in the step
  kv::PageTable* pages = nullptr;
};

class CpuProgram final : public Program {
 public:
  static StatusOr<std::unique_ptr<CpuProgram>> create(CpuDevice& device, std::vector<Block> blocks,
                                                      const ProgramOptions& options);

  Status create(SequenceId sequence, uint32_t reserve_tokens) override;
  Status fork(SequenceId parent, SequenceId child, uint32_t length) override;
  Status truncate(SequenceId sequence, uint32_t length) override;
  StatusOr<Snapshot> snapshot(SequenceId sequence) override;
  Status restore(SequenceId sequence, const Snapshot& snapshot) override;
  Status drop(SequenceId sequence) override;
  std::future<StatusOr<StageOutput>> submit(const StageBatch& batch) override;
  Cost cost(uint64_t tokens) const override;

 private:
  friend class Forward;
  CpuProgram(CpuDevice& device, std::vector<Block> blocks, const ProgramOptions& options)
      : device_(device), blocks_(std::move(blocks)), options_(options) {}

  StatusOr<StageOutput> run(const StageBatch& batch);

  CpuDevice& device_;
  std::vector<Block> blocks_;
  ProgramOptions options_;
  StepBuffers buffers_;
  KvCache kv_;
  std::vector<RopeTable> ropes_;
  MemoryBlock attention_memory_;  // scratch of each thread
  uint64_t attention_floats_ = 0;
};

}  // namespace motley::exec

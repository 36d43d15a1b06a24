// Attention of one block over the KV cache: splits a step into tiles of query rows that share a KV head and hands them
// to threads.
#pragma once

#include <cstdint>
#include <span>

#include "exec/cpu/activations.h"
#include "exec/cpu/cpu_program.h"

namespace motley::exec {

struct AttentionStep {
  const model::SoftmaxAttention& attention;
  uint32_t block = 0;        // ordinal of the attention block in the KV cache
  const float* q = nullptr;  // [T, heads*D], rotated
  float* out = nullptr;      // [T, heads*D]
};

// Floats of scratch that one thread needs for any tile over `context_tokens` keys (resident only as far as used).
uint64_t attention_tile_floats(uint32_t heads_per_kv, uint32_t context_tokens);

// `scratch` holds attention_tile_floats() for each thread of the pool.
void run_attention(const CpuContext& cpu, const KvCache& kv, std::span<const StepSequence> sequences,
                   const AttentionStep& step, float* scratch, uint64_t scratch_floats_per_thread);

}  // namespace motley::exec

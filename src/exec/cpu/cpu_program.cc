#include "exec/cpu/cpu_program.h"

#include <algorithm>

#include "exec/cpu/attention.h"
#include "exec/cpu/cpu_device.h"
#include "exec/cpu/forward.h"

namespace motley::exec {
namespace {

// What the blocks need of buffers, caches and tables.
struct Needs {
  StepBuffers::Widths widths;
  StepBuffers::Orders orders;
  std::vector<KvBlockShape> kv_blocks;
  std::vector<model::Rope> ropes;
  uint32_t heads_per_kv = 1;
};

class Survey {
 public:
  Survey(const CpuDevice& device, Needs& needs) : device_(device), needs_(needs) {}

  void operator()(const EmbedBlock& block) { widen(needs_.widths.hidden, device_.matrix(block.table).cols); }
  void operator()(const AttentionBlock& block) {
    const model::SoftmaxAttention& attention = block.attention;
    widen(needs_.widths.hidden, device_.matrix(block.q.weight).cols);
    for (const Linear* linear : {&block.q, &block.k, &block.v}) note_order(needs_.orders.hidden, *linear);
    note_order(needs_.orders.q, block.o);
    widen(needs_.widths.q, attention.heads * attention.head_dim);
    widen(needs_.widths.kv, attention.kv_heads * attention.head_dim);
    widen(needs_.heads_per_kv, attention.heads / attention.kv_heads);
    needs_.kv_blocks.push_back({.kv_heads = attention.kv_heads, .head_dim = attention.head_dim});
    if (attention.rope && std::find(needs_.ropes.begin(), needs_.ropes.end(), *attention.rope) == needs_.ropes.end())
      needs_.ropes.push_back(*attention.rope);
  }
  void operator()(const FeedForwardBlock& block) {
    widen(needs_.widths.hidden, device_.matrix(block.gate.weight).cols);
    for (const Linear* linear : {&block.gate, &block.up}) note_order(needs_.orders.hidden, *linear);
    note_order(needs_.orders.feed_forward, block.down);
    widen(needs_.widths.feed_forward, block.feed_forward.width);
  }
  void operator()(const HeadBlock& block) {
    widen(needs_.widths.hidden, device_.matrix(block.head.weight).cols);
    note_order(needs_.orders.hidden, block.head);
    widen(needs_.widths.vocabulary, device_.matrix(block.head.weight).rows);
  }

 private:
  static void widen(uint32_t& width, uint64_t wanted) { width = std::max(width, static_cast<uint32_t>(wanted)); }

  void note_order(std::vector<std::span<const uint32_t>>& orders, const Linear& linear) const {
    const std::span<const uint32_t> order = device_.matrix(linear.weight).stored.input_order;
    const auto same = [&](std::span<const uint32_t> known) { return known.data() == order.data(); };
    if (!order.empty() && std::none_of(orders.begin(), orders.end(), same)) orders.push_back(order);
  }

  const CpuDevice& device_;
  Needs& needs_;
};

std::future<StatusOr<StageOutput>> ready(StatusOr<StageOutput> output) {
  std::promise<StatusOr<StageOutput>> promise;
  promise.set_value(std::move(output));
  return promise.get_future();
}

}  // namespace

StatusOr<StepBuffers> StepBuffers::create(const Widths& widths, const Orders& orders, uint32_t max_tokens) {
  StepBuffers buffers;
  const auto place = [&](float* base) {
    float* next = base;
    const auto take = [&](uint32_t width) {
      float* start = next;
      next += (size_t{max_tokens} * width + 15) / 16 * 16;  // 64-byte aligned
      return start;
    };
    buffers.stream = take(widths.hidden);
    buffers.delta = take(widths.hidden);
    buffers.q = take(widths.q);
    buffers.k = take(widths.kv);
    buffers.v = take(widths.kv);
    buffers.up = take(widths.feed_forward);
    buffers.logits = take(widths.vocabulary);
    return static_cast<uint64_t>(next - base);
  };
  TRY(buffers.memory, MemoryBlock::allocate(place(nullptr) * sizeof(float)));
  place(reinterpret_cast<float*>(buffers.memory.data()));
  TRY(buffers.normed, Activations::create(max_tokens, widths.hidden, orders.hidden));
  TRY(buffers.attended, Activations::create(max_tokens, widths.q, orders.q));
  TRY(buffers.gated, Activations::create(max_tokens, widths.feed_forward, orders.feed_forward));
  return buffers;
}

StatusOr<std::unique_ptr<CpuProgram>> CpuProgram::create(CpuDevice& device, std::vector<Block> blocks,
                                                         const ProgramOptions& options) {
  std::unique_ptr<CpuProgram> program(new CpuProgram(device, std::move(blocks), options));
  Needs needs;
  for (const Block& block : program->blocks_) std::visit(Survey(device, needs), block);
  TRY(program->buffers_, StepBuffers::create(needs.widths, needs.orders, options.max_step_tokens));
  const auto dtype = options.precision == Precision::kExact ? tensor::DType::kF32 : tensor::DType::kF16;
  TRY(program->kv_, KvCache::create(needs.kv_blocks, dtype, options.kv_capacity_tokens));
  for (const model::Rope& rope : needs.ropes)
    program->ropes_.push_back({.rope = rope, .frequencies = model::rope_frequencies(rope), .cos = {}, .sin = {}});
  program->attention_floats_ = attention_tile_floats(needs.heads_per_kv, options.context_tokens);
  TRY(program->attention_memory_,
      MemoryBlock::allocate(program->attention_floats_ * device.context().pool.size() * sizeof(float)));
  return program;
}

Status CpuProgram::create(SequenceId sequence, uint32_t reserve_tokens) {
  if (kv_.bytes_for(reserve_tokens) > kv_.bytes_for(options_.kv_capacity_tokens))
    return absl::ResourceExhaustedError(
        fmt::format("the KV cache holds {} tokens, {} are asked for", options_.kv_capacity_tokens, reserve_tokens));
  return kv_.create_sequence(sequence);
}

Status CpuProgram::fork(SequenceId parent, SequenceId child, uint32_t length) {
  return kv_.fork(parent, child, length);
}
Status CpuProgram::truncate(SequenceId sequence, uint32_t length) { return kv_.truncate(sequence, length); }
StatusOr<Snapshot> CpuProgram::snapshot(SequenceId sequence) { return kv_.snapshot(sequence); }
Status CpuProgram::restore(SequenceId sequence, const Snapshot& snapshot) { return kv_.restore(sequence, snapshot); }
Status CpuProgram::drop(SequenceId sequence) { return kv_.drop(sequence); }

std::future<StatusOr<StageOutput>> CpuProgram::submit(const StageBatch& batch) { return ready(run(batch)); }

StatusOr<StageOutput> CpuProgram::run(const StageBatch& batch) {
  std::vector<StepSequence> sequences;
  uint32_t tokens = 0;
  for (const StageRow& row : batch.rows) {
    TRY(kv::PageTable * pages, kv_.find(row.sequence));
    sequences.push_back({.row = &row, .first_token = tokens, .pages = pages});
    tokens += row.count;
  }
  for (const StepSequence& sequence : sequences)
    TRY(kv_.reserve(*sequence.pages, sequence.row->position + sequence.row->count));
  Forward forward(*this, batch, sequences, tokens);
  const StageOutput output = forward.run();
  for (const StepSequence& sequence : sequences) sequence.pages->commit(sequence.row->position + sequence.row->count);
  return output;
}

Cost CpuProgram::cost(uint64_t tokens) const {
  return {.kv_bytes = kv_.bytes_for(tokens),
          .scratch_bytes = buffers_.memory.size_bytes() + attention_memory_.size_bytes()};
}

}  // namespace motley::exec

#include "exec/cpu/forward.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "exec/cpu/attention.h"

namespace motley::exec {
namespace {

// The fewest panels that a thread takes at once.
constexpr uint64_t kPanelsARun = 8;
// A product of few tokens streams weights. Long runs keep the memory busy (35 GB/s against 30 measured with alternating
// rows), but one run a thread would let all wait for a thread that the machine holds up; so each thread takes about
// this many.
constexpr uint64_t kRunsAThread = 6;

struct Angles {
  std::span<const uint32_t> positions;

  void fill(RopeTable& table) const {
    const auto& frequencies = table.frequencies.radians_per_position;
    table.cos.resize(positions.size() * frequencies.size());
    table.sin.resize(table.cos.size());
    size_t index = 0;
    for (const uint32_t position : positions)
      for (const double frequency : frequencies) {
        const double angle = position * frequency;
        table.cos[index] = static_cast<float>(std::cos(angle) * table.frequencies.magnitude);
        table.sin[index] = static_cast<float>(std::sin(angle) * table.frequencies.magnitude);
        ++index;
      }
  }
};

kernels::RopePairs kernel_pairs(model::RopePairs pairs) {
  return pairs == model::RopePairs::kInterleaved ? kernels::RopePairs::kInterleaved : kernels::RopePairs::kHalfSplit;
}

}  // namespace

Forward::Forward(CpuProgram& program, const StageBatch& batch, std::span<const StepSequence> sequences, uint32_t tokens)
    : program_(program),
      batch_(batch),
      sequences_(sequences),
      tokens_(tokens),
      hidden_(program.buffers_.normed.cols()),
      cpu_(program.device_.context()),
      buffers_(program.buffers_) {
  for (const StepSequence& sequence : sequences_)
    for (uint32_t i = 0; i < sequence.row->count; ++i) {
      positions_.push_back(sequence.row->position + i);
      pages_.push_back(sequence.pages);
    }
}

StageOutput Forward::run() {
  compute_angles();
  if (!batch_.stream.empty()) std::memcpy(buffers_.stream, batch_.stream.data(), batch_.stream.size_bytes());
  struct Visitor {
    Forward& forward;
    void operator()(const EmbedBlock& block) const { forward.embed(block); }
    void operator()(const AttentionBlock& block) const { forward.attention(block); }
    void operator()(const FeedForwardBlock& block) const { forward.feed_forward(block); }
    void operator()(const HeadBlock& block) const { forward.head(block); }
  };
  for (const Block& block : program_.blocks_) std::visit(Visitor{*this}, block);
  output_.stream = {buffers_.stream, size_t{tokens_} * hidden_};
  return output_;
}

void Forward::compute_angles() {
  for (RopeTable& table : program_.ropes_) Angles{positions_}.fill(table);
}

void Forward::embed(const EmbedBlock& block) {
  const kernels::PanelMatrix& table = program_.device_.matrix(block.table);
  for_tokens(cpu_.pool, tokens_, [&](uint32_t token) {
    float* row = buffers_.stream + size_t{token} * hidden_;
    kernels::decode_panel_row(table, static_cast<uint64_t>(batch_.ids[token]), {row, hidden_});
    if (block.scale != 1)
      for (uint32_t i = 0; i < hidden_; ++i) row[i] *= block.scale;
  });
}

// stream += o(attention(rope(q(n)), rope(k(n)), v(n))), n = norm(stream)
void Forward::attention(const AttentionBlock& block) {
  rms_norm(buffers_.stream, block.norm, block.norm_weight, buffers_.normed);
  multiply(buffers_.normed, {{block.q, buffers_.q}, {block.k, buffers_.k}, {block.v, buffers_.v}});
  rotate_and_store(block);
  buffers_.attended.begin(tokens_);
  run_attention(
      cpu_, program_.kv_, sequences_,
      {.attention = block.attention, .block = attention_block_, .q = buffers_.q, .out = buffers_.attended.row(0)},
      reinterpret_cast<float*>(program_.attention_memory_.data()), program_.attention_floats_);
  multiply(buffers_.attended, {{block.o, buffers_.delta}});
  add_delta();
  ++attention_block_;
}

void Forward::rotate_and_store(const AttentionBlock& block) {
  const model::SoftmaxAttention& attention = block.attention;
  const RopeTable* rope = nullptr;
  for (const RopeTable& table : program_.ropes_)
    if (attention.rope && table.rope == *attention.rope) rope = &table;
  for_tokens(cpu_.pool, tokens_, [&](uint32_t token) {
    float* q = buffers_.q + size_t{token} * attention.heads * attention.head_dim;
    float* k = buffers_.k + size_t{token} * attention.kv_heads * attention.head_dim;
    const float* v = buffers_.v + size_t{token} * attention.kv_heads * attention.head_dim;
    if (rope != nullptr) {
      const uint32_t half = attention.rope->rotary_dims / 2;
      const float* cos = &rope->cos[size_t{token} * half];
      const float* sin = &rope->sin[size_t{token} * half];
      const kernels::RopePairs pairs = kernel_pairs(attention.rope->pairs);
      cpu_.table.rope(q, attention.heads, attention.head_dim, half, cos, sin, pairs);
      cpu_.table.rope(k, attention.kv_heads, attention.head_dim, half, cos, sin, pairs);
    }
    program_.kv_.store(cpu_.table, *pages_[token], attention_block_, positions_[token], k, v);
  });
}

// stream += down(silu(gate(n)) * up(n)), n = norm(stream)
void Forward::feed_forward(const FeedForwardBlock& block) {
  rms_norm(buffers_.stream, block.norm, block.norm_weight, buffers_.normed);
  buffers_.gated.begin(tokens_);
  multiply(buffers_.normed, {{block.gate, buffers_.gated.row(0)}, {block.up, buffers_.up}});
  const uint32_t width = block.feed_forward.width;
  for_tokens(cpu_.pool, tokens_, [&](uint32_t token) {
    cpu_.table.silu_mul(buffers_.gated.row(token), buffers_.up + size_t{token} * width, width);
  });
  multiply(buffers_.gated, {{block.down, buffers_.delta}});
  add_delta();
}

// Only the wanted rows go through the final norm and the head.
void Forward::head(const HeadBlock& block) {
  uint32_t outputs = 0;
  for (const StepSequence& sequence : sequences_) {
    const StageRow& row = *sequence.row;
    const uint32_t wanted = row.outputs == Outputs::kAll ? row.count : row.outputs == Outputs::kLast ? 1 : 0;
    const uint32_t first = sequence.first_token + row.count - wanted;
    std::memcpy(buffers_.delta + size_t{outputs} * hidden_, buffers_.stream + size_t{first} * hidden_,
                size_t{wanted} * hidden_ * sizeof(float));
    outputs += wanted;
  }
  const uint32_t step_tokens = std::exchange(tokens_, outputs);
  rms_norm(buffers_.delta, block.norm, block.norm_weight, buffers_.normed);
  output_.hidden = buffers_.normed.all();
  if (batch_.kind != OutputKind::kHidden && outputs > 0) {
    multiply(buffers_.normed, {{block.head, buffers_.logits}});
    output_.logits = {buffers_.logits, size_t{outputs} * program_.device_.matrix(block.head.weight).rows};
  }
  tokens_ = step_tokens;
}

void Forward::rms_norm(const float* rows, const model::Norm& norm, WeightHandle weight, Activations& out) {
  const std::span<const float> scale = program_.device_.vector(weight);
  out.begin(tokens_);
  for_tokens(cpu_.pool, tokens_, [&](uint32_t token) {
    cpu_.table.rms_norm(rows + size_t{token} * hidden_, scale.data(), norm.eps, hidden_, out.row(token));
  });
}

// All products of one input share one fork and join: their panels are numbered through.
void Forward::multiply(Activations& x, std::initializer_list<Product> products) {
  uint64_t panels = 0, bytes = 0;
  for (const Product& product : products) {
    const kernels::PanelMatrix& matrix = program_.device_.matrix(product.linear.weight);
    panels += matrix.panel_count();
    bytes += kernels::matrix_bytes(matrix);
  }
  for (const Product& product : products) {
    // Derived forms are made before the threads start, not by each of them.
    const kernels::PanelMatrix& matrix = program_.device_.matrix(product.linear.weight);
    Activations& rows = x.ordered(cpu_, matrix.stored.input_order);
    if (is_fast(matrix.format))
      rows.quantized(cpu_, matrix.format.activation_group());
    else
      rows.floats(cpu_, sum_group(matrix.format));
  }
  const uint64_t run = bytes * tokens_ < kBytesWorthSharing
                           ? std::max(panels, uint64_t{1})
                           : std::max(panels / (kRunsAThread * cpu_.pool.size()), kPanelsARun);
  cpu_.pool.for_ranges(panels, run, ThreadPool::Share::kDynamic, [&](uint64_t begin, uint64_t end, uint32_t) {
    uint64_t first = 0;  // number of the product's first panel
    for (const Product& product : products) {
      const kernels::PanelMatrix& matrix = program_.device_.matrix(product.linear.weight);
      const uint64_t last = first + matrix.panel_count();
      const uint64_t from = std::max(begin, first), to = std::min(end, last);
      if (from < to) multiply_panels(x, matrix, {.begin = from - first, .end = to - first}, product.y);
      first = last;
    }
  });
  for (const Product& product : products) {
    if (!product.linear.bias) continue;
    const std::span<const float> bias = program_.device_.vector(*product.linear.bias);
    for_tokens(cpu_.pool, tokens_,
               [&](uint32_t token) { cpu_.table.add(product.y + token * bias.size(), bias.data(), bias.size()); });
  }
}

bool Forward::is_fast(const kernels::PanelFormat& format) const {
  return program_.options_.precision == Precision::kFast && format.activation_group() != 0;
}

uint32_t Forward::sum_group(const kernels::PanelFormat& format) {
  const bool biases =
      format.kind == kernels::PanelKind::kInteger && format.offset == kernels::PanelFormat::Offset::kBiases;
  return biases ? format.group_size : 0;
}

void Forward::multiply_panels(Activations& x, const kernels::PanelMatrix& matrix, kernels::PanelRange panels,
                              float* y) {
  const kernels::OutputRows out{.data = y, .stride = matrix.rows};
  Activations& rows = x.ordered(cpu_, matrix.stored.input_order);
  if (is_fast(matrix.format))
    cpu_.table.matmul_fast(matrix, rows.quantized(cpu_, matrix.format.activation_group()), panels, out);
  else
    cpu_.table.matmul_exact(matrix, rows.floats(cpu_, sum_group(matrix.format)), panels, out);
}

void Forward::add_delta() {
  for_tokens(cpu_.pool, tokens_, [&](uint32_t token) {
    cpu_.table.add(buffers_.stream + size_t{token} * hidden_, buffers_.delta + size_t{token} * hidden_, hidden_);
  });
}

}  // namespace motley::exec

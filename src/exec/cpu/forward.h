// One step through the blocks of a program: read top to bottom, it is the network.
#pragma once

#include <initializer_list>
#include <span>

#include "exec/cpu/cpu_device.h"
#include "exec/cpu/cpu_program.h"

namespace motley::exec {

class Forward {
 public:
  // `sequences` have their pages reserved; `tokens` is their sum.
  Forward(CpuProgram& program, const StageBatch& batch, std::span<const StepSequence> sequences, uint32_t tokens);

  StageOutput run();

 private:
  // y [T, N] = linear(x); a product and where it goes.
  struct Product {
    const Linear& linear;
    float* y;
  };

  void embed(const EmbedBlock& block);
  void attention(const AttentionBlock& block);
  void feed_forward(const FeedForwardBlock& block);
  void head(const HeadBlock& block);

  void compute_angles();
  void rotate_and_store(const AttentionBlock& block);
  void rms_norm(const float* rows, const model::Norm& norm, WeightHandle weight, Activations& out);
  void multiply(Activations& x, std::initializer_list<Product> products);
  bool is_fast(const kernels::PanelFormat& format) const;
  static uint32_t sum_group(const kernels::PanelFormat& format);
  void multiply_panels(Activations& x, const kernels::PanelMatrix& matrix, kernels::PanelRange panels, float* y);
  void add_delta();

  CpuProgram& program_;
  const StageBatch& batch_;
  std::span<const StepSequence> sequences_;
  uint32_t tokens_;
  uint32_t hidden_ = 0;  // H
  CpuContext cpu_;
  StepBuffers& buffers_;
  std::vector<uint32_t> positions_;          // [T]
  std::vector<const kv::PageTable*> pages_;  // [T]
  uint32_t attention_block_ = 0;             // ordinal of the next one
  StageOutput output_;
};

}  // namespace motley::exec

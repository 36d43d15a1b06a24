// The CPU as a device: weights in panels, one thread pool, the kernel table of this processor.
#pragma once

#include <memory>
#include <variant>
#include <vector>

#include "base/thread_pool.h"
#include "exec/cpu/activations.h"
#include "exec/cpu/arena.h"
#include "exec/device.h"
#include "kernels/table.h"

namespace motley::exec {

class CpuDevice final : public Device {
 public:
  CpuDevice(const kernels::KernelTable& table, const DeviceOptions& options);

  DeviceFacts facts() const override;
  StatusOr<WeightHandle> upload(const WeightSlice& slice) override;
  StatusOr<std::unique_ptr<Program>> compile(std::vector<Block> blocks, const ProgramOptions& options) override;

  CpuContext context() { return {.table = table_, .pool = pool_}; }
  const kernels::PanelMatrix& matrix(WeightHandle handle) const {
    return std::get<kernels::PanelMatrix>(weights_[handle.index]);
  }
  std::span<const float> vector(WeightHandle handle) const {
    return std::get<std::vector<float>>(weights_[handle.index]);
  }

 private:
  StatusOr<std::vector<float>> upload_vector(const WeightSlice& slice);
  StatusOr<kernels::PanelMatrix> upload_panels(const WeightSlice& slice);
  StatusOr<kernels::PanelMatrix> upload_stored(const WeightSlice& slice);
  StatusOr<std::span<const std::byte>> copy_part(const std::optional<model::Piece>& piece);
  // The one copy of an order of inputs: matrices that share one compare by address.
  std::span<const uint32_t> shared_order(const std::vector<uint32_t>& order);

  const kernels::KernelTable& table_;
  ThreadPool pool_;
  bool lock_memory_;
  Arena arena_;
  std::vector<std::variant<kernels::PanelMatrix, std::vector<float>>> weights_;
  std::vector<std::unique_ptr<std::vector<uint32_t>>> input_orders_;
  uint64_t weight_bytes_ = 0;
};

}  // namespace motley::exec

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
  StatusOr<kernels::PanelMatrix> upload_matrix(const quant::StoredMatrix& stored);

  const kernels::KernelTable& table_;
  ThreadPool pool_;
  bool lock_memory_;
  Arena arena_;
  std::vector<std::variant<kernels::PanelMatrix, std::vector<float>>> weights_;
  uint64_t weight_bytes_ = 0;
};

}  // namespace motley::exec

// A Runner on this machine's own devices.
#pragma once

#include <memory>

#include "exec/runner.h"
#include "model/model.h"

namespace motley::exec {

struct LocalOptions {
  uint32_t threads = 0;  // 0: one a physical core that this process may use
  Precision precision = Precision::kFast;
  // Longest sequence; nullopt: the model's own, as far as memory allows.
  std::optional<uint32_t> context_tokens;
  uint32_t max_step_tokens = 512;
  enum class Lock : uint8_t { kNo, kYes } lock = Lock::kNo;  // keep the weights in memory (mlock)
  std::string instruction_set;                               // "" : the best one
};

// What the device calls itself ("CPU, 2 threads, avx2"), with no weights in it yet; an error where it cannot be made.
StatusOr<std::string> local_device_name(const LocalOptions& options);

// Brings the weights to the device tensor by tensor (packed stays packed; the file's pages are given back as it goes).
// ResourceExhausted names what would not fit.
StatusOr<std::unique_ptr<Runner>> make_local_runner(const std::shared_ptr<const model::Model>& model,
                                                    const LocalOptions& options);

}  // namespace motley::exec

// What can hold weights and run blocks: the CPU, later a graphics card. Rows of devices.def. Nothing above exec sees a
// device, and nothing here may assume that weights are reachable from the CPU once they are uploaded.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "exec/block.h"
#include "exec/runner.h"
#include "model/model.h"

namespace motley::exec {

struct DeviceFacts {
  std::string name;              // "CPU, 8 threads, avx2"
  uint64_t available_bytes = 0;  // for weights, KV and scratch together
  uint64_t weight_bytes = 0;     // uploaded so far
};

// Rows [first_row, first_row + rows) of a weight: experts and tensor parallelism take slices, everything else takes
// all.
struct WeightSlice {
  const model::Weight* weight = nullptr;
  uint64_t first_row = 0;
  uint64_t rows = 0;
};

struct ProgramOptions {
  Precision precision = Precision::kFast;
  uint32_t context_tokens = 0;      // longest sequence
  uint32_t max_step_tokens = 0;     // most tokens in one batch
  uint64_t kv_capacity_tokens = 0;  // over all sequences
};

// One row of a stage's batch: `count` tokens that continue one sequence.
struct StageRow {
  SequenceId sequence = 0;
  uint32_t position = 0;
  uint32_t count = 0;
  Outputs outputs = Outputs::kLast;
};

struct StageBatch {
  std::vector<StageRow> rows;
  std::span<const int32_t> ids;           // [T], where the embedding is
  std::span<const float> stream;          // [T, H], elsewhere
  OutputKind kind = OutputKind::kLogits;  // kHidden leaves the head matrix out
};

// Views into the program's memory, valid until the next submit().
struct StageOutput {
  std::span<const float> stream;  // [T, H], where the head is not
  std::span<const float> hidden;  // [outputs, H], where it is
  std::span<const float> logits;  // [outputs, V], where it is and logits were asked for
};

// Compiled blocks with the state of their sequences. Threads: one caller at a time.
class Program {
 public:
  virtual ~Program() = default;

  // Sequence state, with the errors and meaning of Runner's calls. Ids are the caller's.
  virtual Status create(SequenceId sequence, uint32_t reserve_tokens) = 0;
  virtual Status fork(SequenceId parent, SequenceId child, uint32_t length) = 0;
  virtual Status truncate(SequenceId sequence, uint32_t length) = 0;
  virtual StatusOr<Snapshot> snapshot(SequenceId sequence) = 0;
  virtual Status restore(SequenceId sequence, const Snapshot& snapshot) = 0;
  virtual Status drop(SequenceId sequence) = 0;

  // Runs the blocks over a batch whose sequences, positions and sizes the caller has validated. ResourceExhausted when
  // the KV cache has no room: then nothing was changed.
  virtual std::future<StatusOr<StageOutput>> submit(const StageBatch& batch) = 0;

  virtual Cost cost(uint64_t tokens) const = 0;
};

// Owner: a runner. Outlives its programs. Threads: one caller at a time.
class Device {
 public:
  virtual ~Device() = default;
  virtual DeviceFacts facts() const = 0;

  // Copies a slice into the device's own layout at its stored size, and gives the source's pages back.
  virtual StatusOr<WeightHandle> upload(const WeightSlice& slice) = 0;
  virtual StatusOr<std::unique_ptr<Program>> compile(std::vector<Block> blocks, const ProgramOptions& options) = 0;
};

struct DeviceOptions {
  uint32_t threads = 0;
  std::string instruction_set;
  bool lock_memory = false;
};

// One row of devices.def.
struct DeviceRow {
  std::string_view name;
  StatusOr<std::unique_ptr<Device>> (*create)(const DeviceOptions& options);
};
std::span<const DeviceRow> device_rows();

}  // namespace motley::exec

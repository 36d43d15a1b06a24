// The Runner of one program on one local device: checks batches, keeps sequence ids, samples where the head is.
#pragma once

#include <map>
#include <memory>
#include <vector>

#include "exec/device.h"
#include "exec/runner.h"

namespace motley::exec {

class LocalRunner final : public Runner {
 public:
  LocalRunner(std::unique_ptr<Device> device, std::unique_ptr<Program> program, Facts facts, Limits limits);
  ~LocalRunner() override;

  StatusOr<SequenceId> create(uint32_t reserve_tokens) override;
  StatusOr<SequenceId> fork(SequenceId parent, uint32_t length) override;
  Status truncate(SequenceId sequence, uint32_t length) override;
  StatusOr<Snapshot> snapshot(SequenceId sequence) override;
  StatusOr<SequenceId> restore(const Snapshot& snapshot) override;
  Status drop(SequenceId sequence) override;
  std::future<StatusOr<Results>> step(Batch batch) override;

  Cost cost(uint64_t tokens) const override { return program_->cost(tokens); }
  Limits limits() const override { return limits_; }
  Facts facts() const override { return facts_; }

 private:
  Status check(const Batch& batch) const;
  Status check(const Row& row) const;
  StatusOr<Results> run(const Batch& batch);
  StatusOr<Results> collect(const Batch& batch, const StageOutput& output) const;

  std::unique_ptr<Device> device_;
  std::unique_ptr<Program> program_;  // goes before the device
  Facts facts_;
  Limits limits_;
  std::map<SequenceId, uint32_t> lengths_;
  SequenceId next_ = 1;
};

}  // namespace motley::exec

// The one interface between everything that thinks in sequences (engine, servers, chat) and everything that computes: a
// core, a graphics card, a stage or a cluster of machines. Nothing above it knows which of them it talks to; no page,
// device or weight is visible through it.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"
#include "sample/sampler.h"

namespace motley::exec {

using SequenceId = uint64_t;

// Which positions of a row give something back, and what.
enum class Outputs : uint8_t { kNone, kLast, kAll };
enum class OutputKind : uint8_t { kToken, kLogits, kHidden };

// Tokens to append to one sequence. A step holds rows of many sequences, at most one a sequence; prefill chunks and
// single decode tokens mix freely, and a row's result does not depend on the other rows.
struct Row {
  SequenceId sequence = 0;
  uint32_t position = 0;     // of ids[0]; must be the sequence's length
  std::vector<int32_t> ids;  // at least one
  uint32_t adapter = 0;      // 0: none. Part of the prefix key
  Outputs outputs = Outputs::kLast;
  OutputKind kind = OutputKind::kToken;

  // kToken only.
  sample::Settings sampling;
  uint32_t choice = 0;                 // of n for one prompt; part of the draw's key
  std::optional<uint32_t> report_top;  // log-probabilities of the drawn token and of so many alternatives
  std::vector<int32_t> history;        // what penalties look at, oldest first
  // Words of sample::Mask for the last output, or nothing. It may become ready after the forward pass has begun.
  std::shared_future<std::vector<uint32_t>> mask;
};

struct Batch {
  std::vector<Row> rows;
};

// Results of one row in the order of its outputs; one of the three is filled.
struct RowResult {
  std::vector<sample::Draw> tokens;
  std::vector<float> logits;  // [outputs, V]
  std::vector<float> hidden;  // [outputs, H], after the final norm
};

struct Results {
  std::vector<RowResult> rows;  // as in the batch
};

enum class Precision : uint8_t {
  kExact,  // f32 activations and KV: the judge
  kFast,   // 15-bit activations with a scale a group, f16 KV
};

struct Limits {
  uint32_t context_tokens = 0;      // longest sequence
  uint32_t max_step_tokens = 0;     // most ids in one step, over all rows
  uint64_t kv_capacity_tokens = 0;  // over all sequences at once
};

// Exact bytes, for admission.
struct Cost {
  uint64_t kv_bytes = 0;
  uint64_t scratch_bytes = 0;
};

struct Facts {
  uint32_t hidden = 0;      // H
  uint32_t vocabulary = 0;  // V
  Precision precision = Precision::kFast;
  std::string device;              // "CPU, 8 threads, avx2"
  uint64_t weight_bytes = 0;       // held by the devices
  uint64_t step_weight_bytes = 0;  // read to decode one token
  uint64_t kv_bytes_per_token = 0;
};

// State of a sequence outside the runner, for prefix stores on disk and for moving sessions.
struct Snapshot {
  uint32_t length = 0;
  std::vector<std::byte> bytes;
};

// Owner: whoever drives steps. Threads: one caller at a time for everything but limits() and facts(). Lifetime:
// sequences end with drop() or with the runner. All calls on an unknown sequence are NotFound.
class Runner {
 public:
  virtual ~Runner() = default;

  // An empty sequence. ResourceExhausted when the KV cache has no room for `reserve_tokens` more.
  virtual StatusOr<SequenceId> create(uint32_t reserve_tokens) = 0;
  // A new sequence that begins with the first `length` tokens of `parent` and shares their state.
  virtual StatusOr<SequenceId> fork(SequenceId parent, uint32_t length) = 0;
  // Forgets everything from `length` on. FailedPrecondition where state cannot be rolled back (recurrent mixers).
  virtual Status truncate(SequenceId sequence, uint32_t length) = 0;
  virtual StatusOr<Snapshot> snapshot(SequenceId sequence) = 0;
  virtual StatusOr<SequenceId> restore(const Snapshot& snapshot) = 0;
  virtual Status drop(SequenceId sequence) = 0;

  // Runs one batch. A malformed batch (unknown sequence, wrong position, an id outside V, too many tokens) is
  // InvalidArgument and changes nothing; after any other error the touched sequences are as before the step. May
  // compute inside the call.
  virtual std::future<StatusOr<Results>> step(Batch batch) = 0;

  virtual Cost cost(uint64_t tokens) const = 0;
  virtual Limits limits() const = 0;
  virtual Facts facts() const = 0;
};

}  // namespace motley::exec

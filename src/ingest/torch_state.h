// The values of a torch pickle that stand for tensors and plain values, over storages whose bytes were found already.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/byte_source.h"
#include "base/status.h"
#include "ingest/container.h"
#include "ingest/pickle.h"

namespace motley::ingest {

// The functions that a state dict calls.
std::span<const std::string_view> torch_callables();

// What a pickle says about a storage: ("storage", FloatStorage, key, "cpu", elements).
struct StorageId {
  std::string key;
  std::optional<tensor::DType> dtype;  // nullopt: its tensors say
  uint64_t elements = 0;               // bytes when it has no dtype
};
StatusOr<StorageId> read_storage_id(const Pickle& pickle, Pickle::Ref ref, const std::string& where);

// Bytes of a storage of `id`.
StatusOr<uint64_t> storage_bytes(const StorageId& id, const std::string& where);

using Storages = std::map<std::string, ByteRange, std::less<>>;  // by key

// What read_torch() promises, from a pickle whose root is a dict.
Status flatten_state(const Pickle& pickle, const Storages& storages, const std::shared_ptr<const ByteSource>& source,
                     std::vector<Tensor>& tensors, Attributes& attributes);

}  // namespace motley::ingest

// Where checkpoint bytes come from. Containers, packings and devices see only this: a local file, a map, a sparse
// partial store or a remote range server look alike. Not for writing, and not for streams of unknown length.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/status.h"

namespace motley {

// Half-open range of bytes inside one source.
struct ByteRange {
  uint64_t offset = 0;
  uint64_t size_bytes = 0;
  uint64_t end() const { return offset + size_bytes; }  // holders have checked that this does not wrap
  bool operator==(const ByteRange&) const = default;
};

// Owner: shared by whoever reads. Threads: all methods may be called from any thread at once.
// Lifetime: spans from view() live as long as the source.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  // What a person calls it: the path or URL that errors name.
  virtual const std::string& name() const = 0;
  virtual uint64_t size_bytes() const = 0;

  // Fills `out` from `offset`. OutOfRange when the range does not lie inside the source; Unavailable or DataLoss when
  // the bytes cannot be had. Blocking.
  virtual Status read(uint64_t offset, std::span<std::byte> out) const = 0;

  // The bytes in place, when the source has them in memory or mapped; nullopt otherwise. Unaligned in general. Faulting
  // the pages in may still block.
  virtual std::optional<std::span<const std::byte>> view(ByteRange range) const = 0;

  // Hints: `range` will be read soon, or will not be read again (a map gives its clean pages back).
  virtual void will_need(ByteRange range) const = 0;
  virtual void done_with(ByteRange range) const = 0;
};

// A regular file, memory-mapped read-only. NotFound, PermissionDenied, or InvalidArgument when it is no regular file.
StatusOr<std::shared_ptr<const ByteSource>> open_file(const std::string& path);

// Bytes in memory, for tests, fuzzers and generated parts.
std::shared_ptr<const ByteSource> memory_source(std::string name, std::vector<std::byte> bytes);

// `range` of `source` as a vector: view() copied, or read(). `budget_bytes` bounds the allocation (ResourceExhausted
// beyond).
StatusOr<std::vector<std::byte>> read_range(const ByteSource& source, ByteRange range, uint64_t budget_bytes);

}  // namespace motley

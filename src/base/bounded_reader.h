// Reads a file header front to back from bytes that nobody trusts. Every read is checked against the end of the file
// and against a budget before a byte is touched or allocated. Little-endian. Not for weights: those stay where they
// are.
#pragma once

#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/byte_source.h"
#include "base/status.h"

namespace motley {

static_assert(std::endian::native == std::endian::little, "files are little-endian and are read in place");

// Owner: one parser. Threads: one. Lifetime: the source outlives it.
class BoundedReader {
 public:
  // `budget_bytes` bounds everything that is read or skipped in total.
  BoundedReader(const ByteSource& source, uint64_t budget_bytes) : source_(source), budget_bytes_(budget_bytes) {}

  // What the file holds from here on. A file that ends too early is rejected at `cut_site`, naming `section`. Both
  // outlive the reader: literals.
  void enter(std::string_view section, std::string_view cut_site) {
    section_ = section;
    cut_site_ = cut_site;
  }

  uint64_t position() const { return position_; }
  uint64_t remaining() const { return source_.size_bytes() - position_; }
  const std::string& file() const { return source_.name(); }

  // "FILE at byte 123", for the errors of whoever interprets what was read.
  std::string where() const;

  template <typename T>
    requires(std::is_arithmetic_v<T> && !std::same_as<T, bool>)
  StatusOr<T> number() {
    TRY(const auto bytes, take(sizeof(T)));
    T value;
    std::memcpy(&value, bytes.data(), sizeof(T));
    return value;
  }

  StatusOr<std::string> text(uint64_t size_bytes);
  Status skip(uint64_t size_bytes);

 private:
  // The next bytes, valid until the next call.
  StatusOr<std::span<const std::byte>> take(uint64_t size_bytes);
  Status admit(uint64_t size_bytes) const;

  const ByteSource& source_;
  uint64_t budget_bytes_;
  uint64_t position_ = 0;
  std::string_view section_ = "header";
  std::string_view cut_site_ = "reader.cut";
  // For sources that cannot be viewed in place: bytes [buffer_begin_, buffer_begin_ + buffer_.size()).
  std::vector<std::byte> buffer_;
  uint64_t buffer_begin_ = 0;
};

}  // namespace motley

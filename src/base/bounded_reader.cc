#include "base/bounded_reader.h"

#include <algorithm>

namespace motley {
namespace {

constexpr uint64_t kReadAheadBytes = 64 * 1024;  // one request to a remote source serves thousands of small fields

}  // namespace

std::string BoundedReader::where() const { return fmt::format("{} at byte {}", file(), position_); }

Status BoundedReader::admit(uint64_t size_bytes) const {
  REJECT_IF(size_bytes > remaining(), cut_site_, where(), fmt::format("{} bytes of {}", size_bytes, section_),
            fmt::format("{} bytes to the end of the file", remaining()));
  REJECT_IF(size_bytes > budget_bytes_ - std::min(budget_bytes_, position_), "reader.budget", where(),
            fmt::format("a header of at most {} bytes", budget_bytes_), "a longer one");
  return absl::OkStatus();
}

StatusOr<std::span<const std::byte>> BoundedReader::take(uint64_t size_bytes) {
  TRY(admit(size_bytes));
  const uint64_t begin = position_;
  if (const auto in_place = source_.view({begin, size_bytes})) {
    position_ += size_bytes;
    return *in_place;
  }
  const bool buffered =
      begin >= buffer_begin_ && size_bytes <= buffer_.size() && begin - buffer_begin_ <= buffer_.size() - size_bytes;
  if (!buffered) {
    const uint64_t wanted = std::max(size_bytes, std::min(kReadAheadBytes, remaining()));
    TRY(buffer_, read_range(source_, {begin, wanted}, std::max(budget_bytes_, kReadAheadBytes)));
    buffer_begin_ = begin;
  }
  position_ += size_bytes;
  return std::span<const std::byte>(buffer_).subspan(begin - buffer_begin_, size_bytes);
}

StatusOr<std::string> BoundedReader::text(uint64_t size_bytes) {
  TRY(const auto bytes, take(size_bytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Status BoundedReader::skip(uint64_t size_bytes) {
  TRY(admit(size_bytes));
  // A cut that nobody checked must not move past the end.
  if (size_bytes > remaining()) return absl::OutOfRangeError(fmt::format("{}: no {} bytes left", where(), size_bytes));
  position_ += size_bytes;
  return absl::OkStatus();
}

}  // namespace motley

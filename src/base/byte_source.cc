#include "base/byte_source.h"

#include <cstring>

namespace motley {
namespace {

class MemorySource final : public ByteSource {
 public:
  MemorySource(std::string name, std::vector<std::byte> bytes) : name_(std::move(name)), bytes_(std::move(bytes)) {}

  const std::string& name() const override { return name_; }
  uint64_t size_bytes() const override { return bytes_.size(); }

  Status read(uint64_t offset, std::span<std::byte> out) const override {
    const auto bytes = view({offset, out.size()});
    if (!bytes) return absl::OutOfRangeError(fmt::format("{}: no bytes {}+{}", name_, offset, out.size()));
    if (!out.empty()) std::memcpy(out.data(), bytes->data(), out.size());
    return absl::OkStatus();
  }

  std::optional<std::span<const std::byte>> view(ByteRange range) const override {
    if (range.offset > bytes_.size() || range.size_bytes > bytes_.size() - range.offset) return std::nullopt;
    return std::span(bytes_).subspan(range.offset, range.size_bytes);
  }

  void will_need(ByteRange) const override {}
  void done_with(ByteRange) const override {}

 private:
  std::string name_;
  std::vector<std::byte> bytes_;
};

}  // namespace

std::shared_ptr<const ByteSource> memory_source(std::string name, std::vector<std::byte> bytes) {
  return std::make_shared<MemorySource>(std::move(name), std::move(bytes));
}

StatusOr<std::vector<std::byte>> read_range(const ByteSource& source, ByteRange range, uint64_t budget_bytes) {
  if (range.size_bytes > budget_bytes)
    return absl::ResourceExhaustedError(
        fmt::format("{}: {} bytes wanted at once, at most {} allowed", source.name(), range.size_bytes, budget_bytes));
  if (range.offset > source.size_bytes() || range.size_bytes > source.size_bytes() - range.offset)
    return absl::OutOfRangeError(fmt::format("{}: expected {} bytes at {}, got a file of {}", source.name(),
                                             range.size_bytes, range.offset, source.size_bytes()));
  std::vector<std::byte> bytes(range.size_bytes);
  TRY(source.read(range.offset, bytes));
  return bytes;
}

}  // namespace motley

#include "ingest/joined_source.h"

#include <algorithm>

namespace motley::ingest {
namespace {

class JoinedSource final : public ByteSource {
 public:
  JoinedSource(std::string name, std::vector<JoinedPart> parts, uint64_t rows, uint64_t segment_bytes)
      : name_(std::move(name)), parts_(std::move(parts)), rows_(rows), segment_bytes_(segment_bytes) {}

  const std::string& name() const override { return name_; }
  uint64_t size_bytes() const override { return rows_ * row_bytes(); }

  Status read(uint64_t offset, std::span<std::byte> out) const override {
    if (offset > size_bytes() || out.size() > size_bytes() - offset)
      return absl::OutOfRangeError(fmt::format("{}: no bytes {}+{}", name_, offset, out.size()));
    while (!out.empty()) {
      const uint64_t row = offset / row_bytes();
      const uint64_t within_row = offset % row_bytes();
      const uint64_t within = within_row % segment_bytes_;
      const JoinedPart& part = parts_[within_row / segment_bytes_];
      const uint64_t count = std::min<uint64_t>(segment_bytes_ - within, out.size());
      TRY(part.source->read(part.range.offset + row * segment_bytes_ + within, out.first(count)));
      out = out.subspan(count);
      offset += count;
    }
    return absl::OkStatus();
  }

  std::optional<std::span<const std::byte>> view(ByteRange) const override { return std::nullopt; }

  void will_need(ByteRange range) const override {
    for (const JoinedPart& part : parts_) part.source->will_need(rows_of(part, range));
  }
  void done_with(ByteRange range) const override {
    for (const JoinedPart& part : parts_) part.source->done_with(rows_of(part, range));
  }

 private:
  uint64_t row_bytes() const { return segment_bytes_ * parts_.size(); }

  // What a part has in the rows that `range` touches.
  ByteRange rows_of(const JoinedPart& part, ByteRange range) const {
    const uint64_t first = std::min(range.offset / row_bytes(), rows_);
    const uint64_t last = std::min((range.end() + row_bytes() - 1) / row_bytes(), rows_);
    return {part.range.offset + first * segment_bytes_, (last - first) * segment_bytes_};
  }

  std::string name_;
  std::vector<JoinedPart> parts_;
  uint64_t rows_, segment_bytes_;
};

}  // namespace

std::shared_ptr<const ByteSource> join_sources(std::string name, std::vector<JoinedPart> parts, uint64_t rows,
                                               uint64_t segment_bytes) {
  return std::make_shared<JoinedSource>(std::move(name), std::move(parts), rows, segment_bytes);
}

}  // namespace motley::ingest

#include "base/bounded_reader.h"

#include <gtest/gtest.h>

#include <limits>

namespace motley {
namespace {

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto* data = reinterpret_cast<const std::byte*>(text.data());
  return {data, data + text.size()};
}

// A source that cannot be seen in place, like a remote one.
class ReadOnlySource final : public ByteSource {
 public:
  explicit ReadOnlySource(std::vector<std::byte> bytes) : inner_(memory_source("remote", std::move(bytes))) {}
  const std::string& name() const override { return inner_->name(); }
  uint64_t size_bytes() const override { return inner_->size_bytes(); }
  Status read(uint64_t offset, std::span<std::byte> out) const override {
    ++reads_;
    return inner_->read(offset, out);
  }
  std::optional<std::span<const std::byte>> view(ByteRange) const override { return std::nullopt; }
  void will_need(ByteRange) const override {}
  void done_with(ByteRange) const override {}
  int reads() const { return reads_; }

 private:
  std::shared_ptr<const ByteSource> inner_;
  mutable int reads_ = 0;
};

TEST(BoundedReader, ReadsNumbersAndTextInPlaceAndFromARemoteSource) {
  const std::string_view file("\x01\x02\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00xyz!", 16);
  const auto in_place = memory_source("here", bytes_of(file));
  const ReadOnlySource remote(bytes_of(file));
  for (const ByteSource* source : {in_place.get(), static_cast<const ByteSource*>(&remote)}) {
    BoundedReader reader(*source, 100);
    EXPECT_EQ(reader.number<uint32_t>().value(), 0x201u);
    EXPECT_EQ(reader.number<uint64_t>().value(), 3u);
    EXPECT_EQ(reader.text(3).value(), "xyz");
    EXPECT_EQ(reader.position(), 15u);
    EXPECT_EQ(reader.remaining(), 1u);
  }
  EXPECT_EQ(remote.reads(), 1) << "small fields share one request";
}

TEST(BoundedReader, EndOfFileIsRejectedAtTheSiteOfTheSection) {
  const auto source = memory_source("cut", bytes_of("abcdef"));
  BoundedReader reader(*source, 100);
  ASSERT_TRUE(reader.skip(4).ok());
  reader.enter("a count", "test.cut_count");
  EXPECT_EQ(rejection_site(reader.number<uint32_t>().status()), "test.cut_count");
  EXPECT_EQ(rejection_site(reader.text(std::numeric_limits<uint64_t>::max()).status()), "test.cut_count");
  EXPECT_EQ(rejection_site(reader.skip(uint64_t{1} << 63)), "test.cut_count");
  EXPECT_EQ(reader.position(), 4u);
}

TEST(BoundedReader, BudgetStopsLongHeaders) {
  const auto source = memory_source("long", std::vector<std::byte>(1000));
  BoundedReader reader(*source, 10);
  ASSERT_TRUE(reader.skip(8).ok());
  EXPECT_EQ(rejection_site(reader.text(3).status()), "reader.budget");
  EXPECT_TRUE(reader.text(2).ok());
}

}  // namespace
}  // namespace motley

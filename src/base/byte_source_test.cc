#include "base/byte_source.h"

#include <cstdio>
#include <filesystem>
#include <fstream>

#include "gtest/gtest.h"

namespace motley {
namespace {

std::string temporary_file(std::string_view content) {
  const auto path = std::filesystem::path(testing::TempDir()) / "byte_source_test.bin";
  std::ofstream(path, std::ios::binary) << content;
  return path.string();
}

TEST(FileSource, ReadsRangesAndRefusesWhatLiesOutside) {
  const auto file = open_file(temporary_file("hello world"));
  ASSERT_TRUE(file.ok()) << file.status();
  EXPECT_EQ((*file)->size_bytes(), 11u);
  std::byte bytes[5];
  ASSERT_TRUE((*file)->read(6, bytes).ok());
  EXPECT_EQ(std::to_integer<char>(bytes[0]), 'w');
  EXPECT_EQ((*file)->read(7, bytes).code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ((*file)->read(~uint64_t{0}, bytes).code(), absl::StatusCode::kOutOfRange);
  EXPECT_FALSE((*file)->view({1, ~uint64_t{0}}).has_value());
  EXPECT_TRUE((*file)->view({11, 0}).has_value());
}

TEST(FileSource, PagesGivenBackAreReadAgain) {
  const auto file = open_file(temporary_file(std::string(1 << 20, 'x')));
  ASSERT_TRUE(file.ok());
  const auto view = (*file)->view({0, 1 << 20});
  (*file)->done_with({0, 1 << 20});
  EXPECT_EQ(std::to_integer<char>((*view)[4096]), 'x');
}

TEST(FileSource, NamesWhatCannotBeOpened) {
  const auto missing = open_file("/nonexistent/model.gguf");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_NE(missing.status().message().find("/nonexistent/model.gguf"), std::string::npos);
  EXPECT_EQ(open_file("/tmp").status().code(), absl::StatusCode::kInvalidArgument);
}

TEST(FileSource, AnEmptyFileIsASourceOfNoBytes) {
  const auto file = open_file(temporary_file(""));
  ASSERT_TRUE(file.ok());
  EXPECT_EQ((*file)->size_bytes(), 0u);
}

TEST(ReadRange, KeepsToItsBudget) {
  const auto source = memory_source("m", std::vector<std::byte>(100));
  EXPECT_EQ(read_range(*source, {0, 100}, 100)->size(), 100u);
  EXPECT_EQ(read_range(*source, {0, 100}, 99).status().code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(read_range(*source, {50, 51}, 100).status().code(), absl::StatusCode::kOutOfRange);
}

}  // namespace
}  // namespace motley

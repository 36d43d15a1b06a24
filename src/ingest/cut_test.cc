// Checkpoints that end too early, at every byte: always an error, never a crash.
#include <gtest/gtest.h>

#include "ingest/load.h"
#include "ingest/testing/drafts.h"

namespace motley::ingest::testing {
namespace {

// Byte by byte through the headers, then in strides of a prime: the middle of the weights has nothing new at each byte.
constexpr size_t kEveryByteUpTo = 4096;
constexpr size_t kStride = 997;

void expect_errors_at_every_cut(const Files& good, const std::string& file) {
  ASSERT_TRUE(load_from(*file_set(good), "", {}).ok());
  std::string whole = good.at(file);
  if (file.ends_with(".json")) whole.resize(whole.find_last_not_of(" \n") + 1);  // white space at the end may go
  for (size_t size = 0; size < whole.size(); size += size < kEveryByteUpTo ? 1 : kStride) {
    Files files = good;
    files[file] = whole.substr(0, size);
    EXPECT_FALSE(load_from(*file_set(files), "", {}).ok()) << file << " cut at " << size;
  }
}

TEST(Cut, Gguf) { expect_errors_at_every_cut({{"model.gguf", GgufDraft::good().text()}}, "model.gguf"); }

TEST(Cut, GgufWithAVocabulary) {
  const Files files = read_model("tiny/bias-gguf");
  expect_errors_at_every_cut(files, "model.gguf");
}

TEST(Cut, Safetensors) { expect_errors_at_every_cut(read_model("tiny/untied-hf"), "model.safetensors"); }
TEST(Cut, Configuration) { expect_errors_at_every_cut(read_model("tiny/untied-hf"), "config.json"); }
TEST(Cut, TokenizerJson) { expect_errors_at_every_cut(read_model("tiny/untied-hf"), "tokenizer.json"); }
Files in_torch(const std::string& text) {
  Files files = read_model("tiny/untied-hf");
  files.erase("model.safetensors");
  files["pytorch_model.bin"] = text;
  return files;
}

TEST(Cut, Torch) { expect_errors_at_every_cut(in_torch(TorchDraft::of("tiny/untied-hf").text()), "pytorch_model.bin"); }
TEST(Cut, TorchBeforeArchives) {
  expect_errors_at_every_cut(in_torch(TorchDraft::of("tiny/untied-hf").legacy_text()), "pytorch_model.bin");
}
TEST(Cut, MetaRank) { expect_errors_at_every_cut(MetaDraft::good(2).files(), "consolidated.01.pth"); }
TEST(Cut, Llama2cVersion1) { expect_errors_at_every_cut({{"model.bin", llama2c_text(1, 0)}}, "model.bin"); }
TEST(Cut, Index) { expect_errors_at_every_cut(read_model("tiny/sharded-hf"), "model.safetensors.index.json"); }
TEST(Cut, Llama2c) { expect_errors_at_every_cut(read_model("tiny/rope-one-kv-llama2c"), "model.bin"); }
TEST(Cut, Llama2cVocabulary) { expect_errors_at_every_cut(read_model("stories260K"), "tok512.bin"); }

}  // namespace
}  // namespace motley::ingest::testing

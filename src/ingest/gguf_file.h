// The header of one GGUF file, version 2 or 3: keys, long arrays where they lie, tensors. Layout: docs/formats.md.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/byte_source.h"
#include "base/json.h"
#include "base/status.h"
#include "ingest/container.h"

namespace motley::ingest {

// An array that is too long for the metadata tree (vocabularies): read only when it is wanted.
struct GgufArray {
  uint32_t element_type = 0;
  uint64_t count = 0;
  ByteRange range;  // of the elements
};

struct GgufFile {
  std::shared_ptr<const ByteSource> source;
  uint32_t version = 0;
  Json keys{Json::Object()};  // flat; scalars, strings and short arrays of numbers
  std::map<std::string, GgufArray, std::less<>> arrays;
  std::vector<Tensor> tensors;
};

inline constexpr uint32_t kGgufMagic = 0x46554747;  // "GGUF"

StatusOr<GgufFile> read_gguf(std::shared_ptr<const ByteSource> source);

// Elements of a long array. Rejects ("gguf.array_type") another element type than the one asked for. Empty when there
// is no such array.
StatusOr<std::vector<std::string>> read_strings(const GgufFile& file, std::string_view key);
StatusOr<std::vector<float>> read_floats(const GgufFile& file, std::string_view key);
StatusOr<std::vector<int32_t>> read_ints(const GgufFile& file, std::string_view key);

}  // namespace motley::ingest

// The header of a GGUF file: its keys and its list of tensors. Layout: docs/formats.md and ggml's docs/gguf.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace motley::convert {

// Keys in the order in which they are added.
class GgufKeys {
 public:
  void add(std::string_view key, std::string_view text);
  void add_u32(std::string_view key, uint32_t value);
  void add_f32(std::string_view key, float value);
  void add_bool(std::string_view key, bool value);
  void add_strings(std::string_view key, std::span<const std::string> values);
  void add_floats(std::string_view key, std::span<const float> values);
  void add_ints(std::string_view key, std::span<const int32_t> values);

  uint64_t count() const { return count_; }
  const std::string& bytes() const { return bytes_; }

 private:
  void begin(std::string_view key, uint32_t type);
  void begin_array(std::string_view key, uint32_t type, uint64_t count);
  void put_string(std::string_view text);

  std::string bytes_;
  uint64_t count_ = 0;
};

struct GgufTensor {
  std::string name;
  std::vector<uint64_t> shape = {};  // outermost first; written the other way round
  uint32_t type = 0;                 // ggml's number
  uint64_t size_bytes = 0;
  uint64_t offset = 0;  // from the start of the file; filled in by gguf_header()
};

inline constexpr uint64_t kGgufAlignment = 32;  // ggml's default

// Everything before the first tensor's bytes; gives each tensor its place.
std::string gguf_header(const GgufKeys& keys, std::vector<GgufTensor>& tensors);

}  // namespace motley::convert

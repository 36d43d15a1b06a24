#include "convert/gguf_writer.h"

#include <array>
#include <bit>

namespace motley::convert {
namespace {

// ggml's numbers for kinds of values.
constexpr uint32_t kU32 = 4, kI32 = 5, kF32 = 6, kBool = 7, kString = 8, kArray = 9;
constexpr uint32_t kVersion = 3;

template <typename T>
void put(std::string& out, T value) {
  const auto bytes = std::bit_cast<std::array<char, sizeof(T)>>(value);
  out.append(bytes.data(), bytes.size());
}

uint64_t aligned(uint64_t offset) { return (offset + kGgufAlignment - 1) / kGgufAlignment * kGgufAlignment; }

}  // namespace

void GgufKeys::put_string(std::string_view text) {
  put(bytes_, uint64_t{text.size()});
  bytes_ += text;
}

void GgufKeys::begin(std::string_view key, uint32_t type) {
  ++count_;
  put_string(key);
  put(bytes_, type);
}

void GgufKeys::begin_array(std::string_view key, uint32_t type, uint64_t count) {
  begin(key, kArray);
  put(bytes_, type);
  put(bytes_, count);
}

void GgufKeys::add(std::string_view key, std::string_view text) {
  begin(key, kString);
  put_string(text);
}

void GgufKeys::add_u32(std::string_view key, uint32_t value) {
  begin(key, kU32);
  put(bytes_, value);
}

void GgufKeys::add_f32(std::string_view key, float value) {
  begin(key, kF32);
  put(bytes_, value);
}

void GgufKeys::add_bool(std::string_view key, bool value) {
  begin(key, kBool);
  put(bytes_, static_cast<char>(value));
}

void GgufKeys::add_strings(std::string_view key, std::span<const std::string> values) {
  begin_array(key, kString, values.size());
  for (const std::string& value : values) put_string(value);
}

void GgufKeys::add_floats(std::string_view key, std::span<const float> values) {
  begin_array(key, kF32, values.size());
  for (const float value : values) put(bytes_, value);
}

void GgufKeys::add_ints(std::string_view key, std::span<const int32_t> values) {
  begin_array(key, kI32, values.size());
  for (const int32_t value : values) put(bytes_, value);
}

std::string gguf_header(const GgufKeys& keys, std::vector<GgufTensor>& tensors) {
  std::string out = "GGUF";
  put(out, kVersion);
  put(out, uint64_t{tensors.size()});
  put(out, keys.count());
  out += keys.bytes();
  uint64_t offset = 0;
  for (GgufTensor& tensor : tensors) {
    put(out, uint64_t{tensor.name.size()});
    out += tensor.name;
    put(out, static_cast<uint32_t>(tensor.shape.size()));
    for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size) put(out, *size);
    put(out, tensor.type);
    put(out, offset);
    tensor.offset = offset;
    offset = aligned(offset + tensor.size_bytes);
  }
  out.resize(aligned(out.size()), '\0');
  for (GgufTensor& tensor : tensors) tensor.offset += out.size();
  return out;
}

}  // namespace motley::convert

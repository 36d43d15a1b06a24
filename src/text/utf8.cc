#include "text/utf8.h"

#include <cstdint>

namespace motley::text {
namespace {

uint8_t byte_at(std::string_view text, size_t index) { return static_cast<uint8_t>(text[index]); }

// Bytes of the well-formed character at `start`; 0 when there is none.
size_t character_size(std::string_view text, size_t start) {
  const uint8_t lead = byte_at(text, start);
  if (lead < 0x80) return 1;
  size_t size = 0;
  uint8_t low = 0x80;  // what the second byte must lie between
  uint8_t high = 0xBF;
  if (lead >= 0xC2 && lead <= 0xDF) {
    size = 2;
  } else if (lead >= 0xE0 && lead <= 0xEF) {
    size = 3;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
  } else if (lead >= 0xF0 && lead <= 0xF4) {
    size = 4;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
  }
  if (size == 0 || text.size() - start < size) return 0;
  if (byte_at(text, start + 1) < low || byte_at(text, start + 1) > high) return 0;
  for (size_t i = 2; i < size; ++i) {
    if ((byte_at(text, start + i) & 0xC0) != 0x80) return 0;
  }
  return size;
}

}  // namespace

std::optional<size_t> first_invalid_utf8(std::string_view text) {
  size_t at = 0;
  while (at < text.size()) {
    const size_t size = character_size(text, at);
    if (size == 0) return at;
    at += size;
  }
  return std::nullopt;
}

}  // namespace motley::text

// Any bytes as a template and a conversation, with a zero byte between: text or an error, within the limits.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "text/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  constexpr motley::text::ChatLimits kLimits = {.fuel = 20'000, .output_bytes = 1 << 16, .memory_bytes = 16 << 20};
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const std::string_view source = bytes.substr(0, bytes.find('\0'));
  const auto chat_template = motley::text::ChatTemplate::compile(source, "fuzz");
  if (!chat_template.ok()) return 0;
  motley::text::ChatInput input;
  input.messages_json = R"([{"role": "user", "content": "hi"}])";
  if (source.size() < bytes.size()) input.messages_json = bytes.substr(source.size() + 1);
  input.bos_token = "<s>";
  const auto text = chat_template->render(input, kLimits);
  if (text.ok() && text->size() > kLimits.output_bytes) std::abort();
  return 0;
}

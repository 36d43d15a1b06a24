#include "app/prompt_input.h"

#include <array>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>

#include "app/exit_status.h"
#include "base/byte_source.h"
#include "base/terminal.h"

namespace motley::app {
namespace {

// Far beyond every context there is; a pipe that never ends must not fill memory.
constexpr size_t kMaxPromptBytes = size_t{64} << 20;

// A pipe that somebody forgot about would look like a hang.
constexpr std::chrono::milliseconds kPatience{2000};

// What `echo` and editors add is no part of a prompt.
void drop_last_newline(std::string& text) {
  if (text.ends_with('\n')) text.pop_back();
  if (text.ends_with('\r')) text.pop_back();
}

}  // namespace

StatusOr<std::string> read_standard_input() {
  if (!standard_input_ready(kPatience)) fmt::print(stderr, "motley: waiting for the prompt from standard input\n");
  std::string text;
  std::array<char, 65536> piece;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), stdin)) {
    text.append(piece.data(), count);
    REJECT_IF(text.size() > kMaxPromptBytes, "app.prompt_size", "standard input",
              fmt::format("at most {} bytes", kMaxPromptBytes), "more");
  }
  if (std::ferror(stdin) != 0)
    return absl::DataLossError(fmt::format("standard input: cannot read: {}", std::strerror(errno)));
  return text;
}

StatusOr<std::string> read_text(const std::string& path) {
  if (path == "-") return read_standard_input();
  TRY(const auto source, open_file(path));
  TRY(const auto bytes, read_range(*source, {0, source->size_bytes()}, kMaxPromptBytes));
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

StatusOr<std::optional<std::string>> read_prompt(const std::optional<std::string>& argument) {
  if (standard_input_kind() != InputKind::kData) {
    if (argument || standard_input_kind() == InputKind::kTerminal) return argument;
    return usage_error("PROMPT: expected an argument or text on standard input, got neither");
  }
  TRY(std::string piped, read_standard_input());
  drop_last_newline(piped);
  if (argument) return piped.empty() ? *argument : *argument + "\n\n" + piped;
  REJECT_IF(piped.empty(), "app.prompt_empty", "standard input", "a prompt", "nothing");
  return piped;
}

}  // namespace motley::app

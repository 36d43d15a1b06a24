#include "app/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "app/exit_status.h"
#include "base/terminal.h"

namespace motley::app {
namespace {

bool is_control(unsigned char c) { return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f; }

// U+2400 + c is the picture of c, U+2421 that of DEL.
std::string picture(unsigned char c) { return {'\xe2', '\x90', static_cast<char>(0x80 + (c == 0x7f ? 0x21 : c))}; }

// A C1 control character, U+0080 to U+009F.
bool is_c1(std::string_view text, size_t at) {
  return text[at] == '\xc2' && at + 1 < text.size() && static_cast<unsigned char>(text[at + 1]) < 0xa0;
}

std::string harmless(std::string_view text) {
  constexpr std::string_view kReplacement = "\xef\xbf\xbd";
  std::string result;
  for (size_t at = 0; at < text.size(); ++at) {
    if (is_c1(text, at)) {
      result += kReplacement;
      ++at;
    } else if (is_control(static_cast<unsigned char>(text[at]))) {
      result += picture(static_cast<unsigned char>(text[at]));
    } else {
      result += text[at];
    }
  }
  return result;
}

}  // namespace

Status print_answer(std::string_view text) {
  return print(is_terminal(StandardStream::kOutput) ? harmless(text) : std::string(text));
}

Status print(std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return absl::OkStatus();
  if (errno == EPIPE) return quiet_end(ExitCode::kBrokenPipe);
  return absl::DataLossError(fmt::format("standard output: cannot write: {}", std::strerror(errno)));
}

Status print_json(const Json& value) { return print(value.dump() + "\n"); }

}  // namespace motley::app

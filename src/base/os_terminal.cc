#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/terminal.h"

namespace motley {

bool is_terminal(StandardStream stream) {
  switch (stream) {
    case StandardStream::kInput:
      return isatty(STDIN_FILENO) != 0;
    case StandardStream::kOutput:
      return isatty(STDOUT_FILENO) != 0;
    case StandardStream::kError:
      return isatty(STDERR_FILENO) != 0;
  }
  return false;
}

InputKind standard_input_kind() {
  if (is_terminal(StandardStream::kInput)) return InputKind::kTerminal;
  struct stat facts {};
  if (fstat(STDIN_FILENO, &facts) != 0) return InputKind::kNothing;
  return S_ISFIFO(facts.st_mode) || S_ISREG(facts.st_mode) ? InputKind::kData : InputKind::kNothing;
}

bool standard_input_ready(std::chrono::milliseconds patience) {
  pollfd descriptor{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0};
  return poll(&descriptor, 1, static_cast<int>(patience.count())) != 0;
}

}  // namespace motley

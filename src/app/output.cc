#include "app/output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "app/exit_status.h"

namespace motley::app {

Status print(std::string_view text) {
  errno = 0;
  const bool written = std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0;
  if (written) return absl::OkStatus();
  if (errno == EPIPE) return quiet_end(ExitCode::kBrokenPipe);
  return absl::DataLossError(fmt::format("standard output: cannot write: {}", std::strerror(errno)));
}

Status print_json(const Json& value) { return print(value.dump() + "\n"); }

}  // namespace motley::app

#include "app/exit_status.h"

#include <cstdio>

#include "absl/strings/cord.h"
#include "absl/strings/numbers.h"

namespace motley::app {
namespace {

constexpr absl::string_view kExitPayload = "motley/exit";

Status with_code(Status status, ExitCode code) {
  status.SetPayload(kExitPayload, absl::Cord(std::to_string(static_cast<int>(code))));
  return status;
}

ExitCode code_of(const Status& status) {
  if (status.ok()) return ExitCode::kOk;
  const auto payload = status.GetPayload(kExitPayload);
  int code = 0;
  if (payload && absl::SimpleAtoi(std::string(*payload), &code)) return static_cast<ExitCode>(code);
  return ExitCode::kFailed;
}

// Messages may quote what a file says; a terminal must not obey it, and it stays one line.
std::string printable(absl::string_view message) {
  std::string line;
  for (const char c : message) {
    const bool control = static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
    if (control)
      line += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    else
      line += c;
  }
  return line;
}

}  // namespace

Status usage_error(const std::string& message) {
  return with_code(absl::InvalidArgumentError(message), ExitCode::kUsage);
}

Status quiet_end(ExitCode code) { return with_code(absl::CancelledError(""), code); }

ExitCode report(const Status& status) {
  if (!status.ok() && !status.message().empty()) fmt::print(stderr, "motley: {}\n", printable(status.message()));
  return code_of(status);
}

}  // namespace motley::app

// How a command ends: which exit code, and the one line that says why.
#pragma once

#include <string>

#include "base/status.h"

namespace motley::app {

// Exit codes. 130 and 141 are what a shell reports for a program that SIGINT or SIGPIPE ended.
enum class ExitCode : int { kOk = 0, kFailed = 1, kUsage = 2, kInterrupted = 130, kBrokenPipe = 141 };

// A wrong command line.
Status usage_error(const std::string& message);
// An end that needs no words: the person, or the reader of our output, wanted it.
Status quiet_end(ExitCode code);

// Writes "motley: MESSAGE" as one line on standard error (nothing when OK or quiet) and says how to exit.
ExitCode report(const Status& status);

}  // namespace motley::app

// What the three standard streams are connected to. Not for line editing (that is app's) and not for colours.
#pragma once

#include <chrono>
#include <cstdint>

namespace motley {

enum class StandardStream : uint8_t { kInput, kOutput, kError };
bool is_terminal(StandardStream stream);

// kData: a pipe or a file, so somebody means it to be read. kNothing: closed, a device such as /dev/null, or a socket.
enum class InputKind : uint8_t { kTerminal, kData, kNothing };
InputKind standard_input_kind();

// True when a read of standard input would not block (there are bytes, or it has ended) within `patience`.
bool standard_input_ready(std::chrono::milliseconds patience);

}  // namespace motley

// Joins typed lines to messages: """ before and after encloses several lines, and a backslash at the end of a line
// continues it.
#pragma once

#include <optional>
#include <string>

namespace motley::app {

class MessageAssembler {
 public:
  // The message that this line completes, without its quotes and backslashes; nullopt when more lines belong to it.
  std::optional<std::string> feed(std::string line);
  bool in_progress() const { return quoted_ || continued_; }
  // Gives an unfinished message up.
  void reset() { *this = {}; }

 private:
  std::string text_;
  bool quoted_ = false;
  bool continued_ = false;
};

}  // namespace motley::app

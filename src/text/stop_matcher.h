// Ends a streamed text at the first stop string, wherever token borders fall. Knows characters, not tokens.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace motley::text {

// Text that could be the beginning of a stop string is held back until the next characters decide.
// Owner: one answer. Threads: one at a time.
class StopMatcher {
 public:
  // Empty strings are ignored. When several match, the one that begins first wins; of those, the longest that is
  // complete.
  explicit StopMatcher(std::vector<std::string> stops);

  struct Result {
    std::string text;      // safe to show
    bool stopped = false;  // a stop string was found; it and what follows are not in any text
  };
  // After a stop, further text is dropped.
  Result feed(std::string_view piece);

  // What was held back, when the answer ends without a stop string.
  std::string finish();

  // The stop string that was found; empty before.
  const std::string& found() const { return found_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;  // a suffix of the text so far that may begin a stop string
  std::string found_;
  bool stopped_ = false;
};

}  // namespace motley::text

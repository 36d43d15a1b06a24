// Lines typed at a terminal, with editing and a history that outlives the program. A wall around libedit.
#pragma once

#include <memory>
#include <string>

#include "base/status.h"

namespace motley::app {

// Owner: the chat. Threads: one; there is one terminal, so there is one editor.
class LineEditor {
 public:
  // `history_file` may be missing (it is made, readable to its owner only); empty: nothing is kept.
  explicit LineEditor(std::string history_file);
  ~LineEditor();
  LineEditor(const LineEditor&) = delete;
  LineEditor& operator=(const LineEditor&) = delete;

  struct Line {
    enum class Kind { kText, kInterrupted, kEnd } kind = Kind::kEnd;  // kEnd: Ctrl-D on an empty line, or input ended
    std::string text;                                                 // without its newline
  };
  // Ctrl-C gives the line up and is no signal here.
  Line read(const std::string& prompt);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace motley::app

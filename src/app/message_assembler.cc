#include "app/message_assembler.h"

#include <string_view>
#include <utility>

namespace motley::app {
namespace {

constexpr std::string_view kQuotes = "\"\"\"";

}  // namespace

std::optional<std::string> MessageAssembler::feed(std::string line) {
  if (!in_progress() && line.starts_with(kQuotes)) {
    quoted_ = true;
    line.erase(0, kQuotes.size());
  }
  if (quoted_ && line.ends_with(kQuotes)) {
    line.resize(line.size() - kQuotes.size());
    quoted_ = false;
    return std::exchange(text_, {}) + line;
  }
  continued_ = !quoted_ && line.ends_with('\\');
  if (continued_) line.pop_back();
  text_ += line;
  if (!in_progress()) return std::exchange(text_, {});
  text_ += '\n';
  return std::nullopt;
}

}  // namespace motley::app

#include "text/stop_matcher.h"

#include <algorithm>
#include <utility>

namespace motley::text {

StopMatcher::StopMatcher(std::vector<std::string> stops) : stops_(std::move(stops)) {
  std::erase_if(stops_, [](const std::string& stop) { return stop.empty(); });
}

StopMatcher::Result StopMatcher::feed(std::string_view piece) {
  if (stopped_) return {.text = "", .stopped = true};
  held_ += piece;
  size_t keep_from = held_.size();  // the first place where an undecided stop string may begin
  for (size_t at = 0; at < held_.size(); ++at) {
    const std::string_view rest = std::string_view(held_).substr(at);
    const std::string* match = nullptr;
    bool undecided = false;
    for (const std::string& stop : stops_) {
      if (rest.starts_with(stop)) {
        if (!match || stop.size() > match->size()) match = &stop;
      } else if (std::string_view(stop).starts_with(rest)) {
        undecided = true;
      }
    }
    if (match) {
      found_ = *match;
      stopped_ = true;
      return {.text = std::exchange(held_, "").substr(0, at), .stopped = true};
    }
    if (undecided) {
      keep_from = at;
      break;
    }
  }
  std::string text = held_.substr(0, keep_from);
  held_.erase(0, keep_from);
  return {.text = std::move(text), .stopped = false};
}

std::string StopMatcher::finish() { return std::exchange(held_, ""); }

}  // namespace motley::text

// Ctrl-C as a flag, for work that ends tidily. Everything else (prompts, loading) keeps the ordinary meaning: the
// program ends.
#pragma once

#include <atomic>

namespace motley::app {

// While it lives, SIGINT goes to `handler`; then to whom it went before.
class InterruptHandler {
 public:
  explicit InterruptHandler(void (*handler)(int));
  ~InterruptHandler();
  InterruptHandler(const InterruptHandler&) = delete;
  InterruptHandler& operator=(const InterruptHandler&) = delete;

 private:
  void (*before_)(int);
};

// While it lives, Ctrl-C raises the flag; only a third one, when nobody listened to two, ends the program. One at a
// time.
class InterruptGuard {
 public:
  InterruptGuard();

  static const std::atomic<bool>& raised();

 private:
  InterruptHandler handler_;
};

// While it lives, Ctrl-C does nothing (but within an InterruptGuard): for a chat, where one that comes just after an
// answer was still meant for the answer.
class InterruptsIgnored {
 public:
  InterruptsIgnored();

 private:
  InterruptHandler handler_;
};

// A reader that goes away shows up as a failed write instead of ending the program half-way through a file.
void ignore_broken_pipes();

}  // namespace motley::app

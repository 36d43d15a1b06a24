// Ctrl-C as a flag, for work that ends tidily. Everything else (prompts, loading) keeps the ordinary meaning: the
// program ends.
#pragma once

#include <atomic>

namespace motley::app {

// While it lives, Ctrl-C raises the flag; only a third one, when nobody listened to two, ends the program. One at a
// time.
class InterruptGuard {
 public:
  InterruptGuard();
  ~InterruptGuard();
  InterruptGuard(const InterruptGuard&) = delete;
  InterruptGuard& operator=(const InterruptGuard&) = delete;

  static const std::atomic<bool>& raised();

 private:
  void (*before_)(int);
};

// While it lives, Ctrl-C does nothing (but within an InterruptGuard): for a chat, where one that comes just after an
// answer was still meant for the answer.
class InterruptsIgnored {
 public:
  InterruptsIgnored();
  ~InterruptsIgnored();
  InterruptsIgnored(const InterruptsIgnored&) = delete;
  InterruptsIgnored& operator=(const InterruptsIgnored&) = delete;

 private:
  void (*before_)(int);
};

// A reader that goes away shows up as a failed write instead of ending the program half-way through a file.
void ignore_broken_pipes();

}  // namespace motley::app

#include "app/interrupt.h"

#include <csignal>

namespace motley::app {
namespace {

std::atomic<bool> interrupt_raised{false};
std::atomic<int> interrupts{0};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may touch nothing else");

void on_interrupt(int /*signal*/) {
  interrupt_raised.store(true);
  if (interrupts.fetch_add(1) >= 1) std::signal(SIGINT, SIG_DFL);
}

// Counts begin anew before the first signal can be counted.
void (*fresh_handler())(int) {
  interrupt_raised.store(false);
  interrupts.store(0);
  return on_interrupt;
}

}  // namespace

InterruptHandler::InterruptHandler(void (*handler)(int)) : before_(std::signal(SIGINT, handler)) {}

InterruptHandler::~InterruptHandler() { std::signal(SIGINT, before_); }

InterruptGuard::InterruptGuard() : handler_(fresh_handler()) {}

InterruptsIgnored::InterruptsIgnored() : handler_(SIG_IGN) {}

const std::atomic<bool>& InterruptGuard::raised() { return interrupt_raised; }

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace motley::app

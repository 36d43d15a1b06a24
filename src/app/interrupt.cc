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

}  // namespace

InterruptGuard::InterruptGuard() {
  interrupt_raised.store(false);
  interrupts.store(0);
  before_ = std::signal(SIGINT, on_interrupt);
}

InterruptGuard::~InterruptGuard() { std::signal(SIGINT, before_); }

InterruptsIgnored::InterruptsIgnored() : before_(std::signal(SIGINT, SIG_IGN)) {}

InterruptsIgnored::~InterruptsIgnored() { std::signal(SIGINT, before_); }

const std::atomic<bool>& InterruptGuard::raised() { return interrupt_raised; }

void ignore_broken_pipes() { std::signal(SIGPIPE, SIG_IGN); }

}  // namespace motley::app

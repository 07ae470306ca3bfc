#pragma once
#include <functional>

#include <signal.h>

namespace zklock::runtime {

/// What blocks, and so is done by a thread that is there for that.
class blocking_call {
public:
    blocking_call& operator=(blocking_call&&) = delete;
    virtual ~blocking_call() = default;

    /// Says whether it is still to be made. May be called from any thread.
    [[nodiscard]] virtual bool wanted() const noexcept = 0;
    /// Makes it. Is called on one of the threads.
    virtual void run() noexcept = 0;
};

/// Is called, on any thread, when the call was made: then `why_not` is null. Else it says why it cannot be made. It
/// throws nothing.
using call_told = std::function<void(const char* why_not)>;

/// While it lives, the threads that this one starts get no signals: those are the program's.
class no_signals {
public:
    no_signals() noexcept
    {
        ::sigset_t every;
        ::sigfillset(&every);
        ::pthread_sigmask(SIG_BLOCK, &every, &before_);
    }
    ~no_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    no_signals& operator=(no_signals&&) = delete;

private:
    ::sigset_t before_{};
};

} // namespace zklock::runtime

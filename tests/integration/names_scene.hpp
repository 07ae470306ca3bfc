#pragma once
// What the tests have in common that answer the questions for host names themselves. Each defines getaddrinfo().
#include <condition_variable>
#include <limits>
#include <mutex>

#include <dlfcn.h>
#include <netdb.h>

namespace zklock::test {

/// Questions for names: as many as are allowed are answered, which are all at first. Others wait.
class name_questions {
public:
    /// Answers so many more.
    void allow(int more)
    {
        const std::lock_guard lock(mutex_);
        allowed_ = more;
        changed_.notify_all();
    }
    void allow_all() { allow(std::numeric_limits<int>::max()); }
    /// How many were asked since the start.
    [[nodiscard]] int asked()
    {
        const std::lock_guard lock(mutex_);
        return asked_;
    }
    [[nodiscard]] int waiting()
    {
        const std::lock_guard lock(mutex_);
        return waiting_;
    }
    /// Returns when it may be answered.
    void ask()
    {
        std::unique_lock lock(mutex_);
        ++asked_;
        ++waiting_;
        changed_.wait(lock, [this] { return allowed_ > 0; });
        --waiting_;
        --allowed_;
    }

private:
    std::mutex mutex_;
    std::condition_variable changed_;
    int allowed_ = std::numeric_limits<int>::max();
    int asked_ = 0;
    int waiting_ = 0;
};
inline name_questions questions;

/// A context waits in its destructor for the name that is being resolved: goes before it.
struct answers_at_the_end {
    answers_at_the_end() = default;
    answers_at_the_end(const answers_at_the_end&) = delete;
    answers_at_the_end& operator=(const answers_at_the_end&) = delete;
    ~answers_at_the_end() { questions.allow_all(); }
};

/// The system's own.
inline int real_getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    static auto real = reinterpret_cast<decltype(&::getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    return real(node, service, hints, found);
}

} // namespace zklock::test

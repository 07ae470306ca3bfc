#include "bridge/sasl/kdc_calls.hpp"
#include "runtime/forks.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <utility>

#include <pthread.h>
#include <signal.h>

namespace zklock::bridge {

namespace asio = boost::asio;

namespace {

/// Starts a thread that nobody joins, and that gets no signals: those are the program's. Returns 0, or an error's
/// number.
int start_detached(void* (*function)(void*), void* argument) noexcept
{
    ::sigset_t every, before;
    ::sigfillset(&every);
    ::pthread_sigmask(SIG_BLOCK, &every, &before);
    ::pthread_t thread;
    const int error = ::pthread_create(&thread, nullptr, function, argument);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error == 0)
        ::pthread_detach(thread);
    return error;
}

} // namespace

/// Has everything that belongs to the context, and lets go of it when that ends.
class kdc_calls::home {
public:
    void add(const std::shared_ptr<kdc_call>& call, told told_then)
    {
        const std::lock_guard lock(mutex_);
        if (!ended_)
            open_.push_back({call, std::move(told_then)});
    }

    void tell(const kdc_call& call, const char* why_not)
    {
        const std::lock_guard lock(mutex_); // the context waits with its end
        const auto found = find(call);
        if (found == open_.end())
            return;
        found->then(why_not);
        open_.erase(found);
    }

    void forget(const kdc_call& call)
    {
        const std::lock_guard lock(mutex_);
        if (const auto found = find(call); found != open_.end())
            open_.erase(found);
    }

    void end()
    {
        const std::lock_guard lock(mutex_);
        ended_ = true;
        open_.clear();
    }

    void before_fork() { mutex_.lock(); }
    void after_fork() { mutex_.unlock(); }
    void tell_all(const char* why_not)
    {
        const std::lock_guard lock(mutex_);
        for (const entry& each : open_)
            each.then(why_not);
        open_.clear();
    }

private:
    struct entry {
        std::shared_ptr<kdc_call> call;
        told then;
    };

    std::list<entry>::iterator find(const kdc_call& call)
    {
        return std::ranges::find_if(open_, [&](const entry& each) { return each.call.get() == &call; });
    }

    std::mutex mutex_; // guards what follows
    std::list<entry> open_;
    bool ended_ = false;
};

/// The threads of a process, which are there only as long as there is work. It is never destroyed, since no end of
/// anything waits for them.
struct kdc_calls::pool {
    struct job {
        std::shared_ptr<kdc_call> call;
        std::shared_ptr<home> of;
    };

    explicit pool(unsigned forks) : of_process(forks) {}

    const unsigned of_process; ///< whose the threads are, by runtime::fork_count()
    std::mutex mutex;          // guards what follows
    std::deque<job> waiting;
    std::size_t threads = 0;

    void add(job added)
    {
        std::unique_lock lock(mutex);
        waiting.push_back(std::move(added));
        if (threads >= at_once)
            return;
        const int error = start_detached(&pool::work, this);
        if (error == 0)
            ++threads;
        if (threads != 0) // else nobody comes to them
            return;
        const auto lost = std::exchange(waiting, {});
        lock.unlock();
        for (const job& each : lost)
            each.of->tell(*each.call, std::strerror(error));
    }

    static void* work(void* self)
    {
        static_cast<pool*>(self)->work();
        return nullptr;
    }

    void work()
    {
        std::unique_lock lock(mutex);
        while (!waiting.empty()) {
            job next = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            if (next.call->wanted()) {
                next.call->run();
                next.of->tell(*next.call, nullptr);
            } else {
                next.of->forget(*next.call);
            }
            next = {};
            lock.lock();
        }
        --threads;
    }
};

kdc_calls::kdc_calls(asio::execution_context& context) : service(context), home_(std::make_shared<home>()) {}

kdc_calls::~kdc_calls() = default;

void kdc_calls::begin(std::shared_ptr<kdc_call> call, told then)
{
    home_->add(call, std::move(then));
    of_this_process().add({std::move(call), home_});
}

/// In a forked process there are no threads, and one of the parent's may have had the mutex: what they shared is left
/// as it was. So no mutex can guard the replacement: of several threads that come here, the first one replaces it.
auto kdc_calls::of_this_process() -> pool&
{
    static std::atomic<pool*> current{nullptr};
    pool* own = current.load(std::memory_order_acquire);
    const unsigned forks = runtime::fork_count();
    if (!own || own->of_process != forks) {
        auto fresh = std::make_unique<pool>(forks);
        if (current.compare_exchange_strong(own, fresh.get(), std::memory_order_acq_rel))
            own = fresh.release();
    }
    return *own;
}

void kdc_calls::shutdown()
{
    home_->end();
}

void kdc_calls::notify_fork(asio::execution_context::fork_event event)
{
    if (event == asio::execution_context::fork_prepare) {
        home_->before_fork();
        return;
    }
    home_->after_fork();
    if (event == asio::execution_context::fork_child)
        home_->tell_all("the process was forked off while a KDC was being asked");
}

} // namespace zklock::bridge

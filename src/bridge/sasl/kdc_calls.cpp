#include "bridge/sasl/kdc_calls.hpp"
#include "runtime/forks.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <list>
#include <mutex>
#include <utility>
#include <vector>

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace zklock::bridge {

namespace asio = boost::asio;

namespace {

/// Starts a thread that nobody joins, and that gets no signals: those are the program's. Returns 0, or an error's
/// number.
int start_detached(::pthread_t& thread, void* (*function)(void*), void* argument) noexcept
{
    ::sigset_t every, before;
    ::sigfillset(&every);
    ::pthread_sigmask(SIG_BLOCK, &every, &before);
    const int error = ::pthread_create(&thread, nullptr, function, argument);
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error == 0)
        ::pthread_detach(thread);
    return error;
}

/// How long the end of the process waits for threads to stop in Kerberos's libraries: they do so where they would wait.
constexpr auto longest_stop = std::chrono::seconds(1);

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
    std::vector<::pthread_t> threads;
    std::size_t stopped = 0; ///< of those
    bool ending = false;     ///< the process
    std::condition_variable one_has_stopped;

    /// Is made for the first call of the process, and never destroyed.
    static inline std::atomic<pool*> current{nullptr};

    void add(job added)
    {
        std::unique_lock lock(mutex);
        waiting.push_back(std::move(added));
        if (threads.size() >= at_once || ending)
            return;
        threads.reserve(at_once);
        ::pthread_t made{};
        const int error = start_detached(made, &pool::work, this);
        if (error == 0)
            threads.push_back(made);
        if (!threads.empty()) // else nobody comes to them
            return;
        const auto lost = std::exchange(waiting, {});
        lock.unlock();
        for (const job& each : lost)
            each.of->tell(*each.call, std::strerror(error));
    }

    /// They are where they can be cancelled, or soon come to such a place, or have left Kerberos's libraries.
    void end_with_process()
    {
        std::unique_lock lock(mutex);
        ending = true;
        for (const ::pthread_t each : threads)
            ::pthread_cancel(each);
        one_has_stopped.wait_for(lock, longest_stop, [&] { return stopped == threads.size(); });
    }

    /// Of the present thread, if the process ends. What cancelled it goes on through no other frame.
    void stop_if_ending()
    {
        std::unique_lock lock(mutex);
        if (!ending)
            return;
        ++stopped;
        one_has_stopped.notify_all();
        lock.unlock();
        for (;;)
            ::pause();
    }

    static void at_exit()
    {
        pool* const own = current.load(std::memory_order_acquire);
        if (own && own->of_process == runtime::fork_count())
            own->end_with_process();
    }

    static void* work(void* self)
    {
        int before = 0;
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
        static_cast<pool*>(self)->work();
        return nullptr;
    }

    void work()
    {
        std::unique_lock lock(mutex);
        while (!waiting.empty() && !ending) {
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
        std::erase_if(threads, [](::pthread_t each) { return ::pthread_equal(each, ::pthread_self()) != 0; });
        one_has_stopped.notify_all();
    }
};

stops_with_process::stops_with_process() noexcept
{
    int before = 0;
    ::pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &before);
}

stops_with_process::~stops_with_process()
{
    int before = 0;
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before);
    kdc_calls::stop_if_process_ends();
}

not_stopped_here::not_stopped_here() noexcept
{
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
}

not_stopped_here::~not_stopped_here()
{
    int ignored = 0;
    ::pthread_setcancelstate(before_, &ignored);
}

void kdc_calls::stop_if_process_ends()
{
    pool::current.load(std::memory_order_acquire)->stop_if_ending();
}

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
    static std::atomic<bool> registered{false};
    if (!registered.exchange(true))
        std::atexit(&pool::at_exit); // before the libraries end themselves
    pool* own = pool::current.load(std::memory_order_acquire);
    const unsigned forks = runtime::fork_count();
    if (!own || own->of_process != forks) {
        auto fresh = std::make_unique<pool>(forks);
        if (pool::current.compare_exchange_strong(own, fresh.get(), std::memory_order_acq_rel))
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

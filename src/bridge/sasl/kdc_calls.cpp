#include "bridge/sasl/kdc_calls.hpp"
#include "runtime/forks.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <pthread.h>
#include <unistd.h>

namespace zklock::bridge {

namespace asio = boost::asio;

namespace {

/// How long the end of the process waits for threads to stop in Kerberos's libraries: they do so where they would wait.
constexpr auto longest_stop = std::chrono::seconds(1);

} // namespace

/// Has everything that belongs to the context, and lets go of it when that ends.
class kdc_calls::home {
public:
    void add(std::shared_ptr<runtime::blocking_call> call, runtime::call_told told)
    {
        const std::lock_guard lock(mutex_);
        if (!ended_)
            open_.emplace(std::move(call), std::move(told));
    }

    void tell(const std::shared_ptr<runtime::blocking_call>& call, const char* why_not)
    {
        const std::lock_guard lock(mutex_); // the context waits with its end
        if (const auto told = open_.extract(call))
            told.mapped()(why_not);
    }

    void forget(const std::shared_ptr<runtime::blocking_call>& call)
    {
        const std::lock_guard lock(mutex_);
        open_.erase(call);
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
        for (const auto& [call, told] : open_)
            told(why_not);
        open_.clear();
    }

private:
    std::mutex mutex_; // guards what follows
    std::map<std::shared_ptr<runtime::blocking_call>, runtime::call_told> open_;
    bool ended_ = false;
};

/// The threads of a process, which are there only as long as there is work. It is never destroyed, since no end of
/// anything waits for them.
struct kdc_calls::pool {
    struct job {
        std::shared_ptr<runtime::blocking_call> call;
        std::shared_ptr<home> of;
    };

    explicit pool(unsigned forks) : of_process(forks) {}

    const unsigned of_process; ///< whose the threads are, by runtime::fork_count()
    std::mutex mutex;          // guards what follows
    std::deque<job> waiting;
    std::vector<std::thread::native_handle_type> threads;
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
        try {
            const runtime::no_signals there;
            std::thread made([this] { work(); });
            threads.push_back(made.native_handle());
            made.detach();
        } catch (const std::exception& no_thread) {
            if (!threads.empty()) // they come to it
                return;
            const auto lost = std::exchange(waiting, {});
            lock.unlock();
            for (const job& each : lost)
                each.of->tell(each.call, no_thread.what());
        }
    }

    /// They are where they can be cancelled, or soon come to such a place, or have left Kerberos's libraries.
    void end_with_process()
    {
        std::unique_lock lock(mutex);
        ending = true;
        for (const auto each : threads)
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

    void work()
    {
        ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
        std::unique_lock lock(mutex);
        while (!waiting.empty() && !ending) {
            job next = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            if (next.call->wanted()) {
                next.call->run();
                next.of->tell(next.call, nullptr);
            } else {
                next.of->forget(next.call);
            }
            next = {};
            lock.lock();
        }
        std::erase_if(threads, [](auto each) { return ::pthread_equal(each, ::pthread_self()) != 0; });
        one_has_stopped.notify_all();
    }
};

stops_with_process::stops_with_process() noexcept
{
    ::pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, nullptr);
}

stops_with_process::~stops_with_process()
{
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, nullptr);
    kdc_calls::pool::current.load(std::memory_order_acquire)->stop_if_ending();
}

not_stopped_here::not_stopped_here() noexcept
{
    ::pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_);
}

not_stopped_here::~not_stopped_here()
{
    ::pthread_setcancelstate(before_, nullptr);
}

kdc_calls::kdc_calls(asio::execution_context& context) : service(context), home_(std::make_shared<home>()) {}

void kdc_calls::begin(std::shared_ptr<runtime::blocking_call> call, runtime::call_told told)
{
    static std::atomic<bool> registered{false};
    if (!registered.exchange(true))
        std::atexit(&pool::at_exit); // before the libraries end themselves
    home_->add(call, std::move(told));
    runtime::of_this_process(pool::current).add({std::move(call), home_});
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

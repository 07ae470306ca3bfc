#include "bridge/names/blocking_calls.hpp"
#include "runtime/forks.hpp"

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace zklock::bridge {

namespace asio = boost::asio;

namespace {

asio::ip::address address_of(const addrinfo& entry)
{
    asio::ip::tcp::endpoint found;
    found.resize(entry.ai_addrlen);
    std::memcpy(found.data(), entry.ai_addr, entry.ai_addrlen);
    return found.address();
}

name_answer ask_the_system(const std::string& host)
{
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_protocol = IPPROTO_TCP;
    name_answer answer;
    answer.asked = std::chrono::steady_clock::now();
    addrinfo* all = nullptr;
    const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &all);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(code == 0 ? all : nullptr, &::freeaddrinfo);
    for (const addrinfo* each = owner.get(); each; each = each->ai_next)
        if (each->ai_family == AF_INET || each->ai_family == AF_INET6)
            answer.addresses.push_back(address_of(*each));
    if (answer.addresses.empty())
        answer.why_none = code == 0            ? "no address"
                          : code == EAI_SYSTEM ? std::generic_category().message(errno)
                                               : ::gai_strerror(code);
    answer.unanswered = code != 0 && code != EAI_NONAME && code != EAI_NODATA && code != EAI_ADDRFAMILY;
    return answer;
}

} // namespace

/// What the threads share with each other and with the service.
struct blocking_calls::shared {
    using clock = std::chrono::steady_clock;

    /// What is asked about one name, and who wants to know.
    struct question final : runtime::blocking_call {
        explicit question(const std::shared_ptr<name_lookup>& first) : host(first->host), askers{first} {}

        [[nodiscard]] bool wanted() const noexcept override
        {
            return std::ranges::any_of(askers, [](const auto& each) { return !each->cancelled; });
        }
        void run() noexcept override
        {
            try {
                answer = ask_the_system(host);
            } catch (...) { // NOLINT: there was no memory for it
            }
        }
        /// A client that cannot be told finds its lookup lost, when it asks again.
        void tell(const char* why_not) noexcept
        {
            for (const auto& lookup : askers)
                try {
                    const auto told = why_not ? name_answer{{}, why_not, true, clock::now()} : answer.value();
                    asio::post(lookup->strand, [lookup, told] {
                        if (!lookup->cancelled)
                            lookup->done(told);
                    });
                } catch (...) {
                    lookup->lost = true;
                }
        }

        const std::string host;
        std::vector<std::shared_ptr<name_lookup>> askers;
        std::optional<name_answer> answer{};
    };

    struct job {
        std::shared_ptr<runtime::blocking_call> call{};
        runtime::call_told told{};
        question* asks = nullptr; ///< the call, if it is a question: others find it by its name
    };

    struct worker {
        job at;                    ///< none while it looks for one
        clock::time_point since{}; ///< when it began with that
        bool ended = false;
        std::jthread thread{};
    };

    explicit shared(unsigned forks) : of_process(forks) {}

    const unsigned of_process; ///< whose the threads are, by runtime::fork_count()
    std::mutex mutex;          // guards what follows
    std::condition_variable look_again;
    std::deque<job> waiting;
    std::list<worker> workers;
    bool in_reserve = false; ///< a worker waits until another is late
    bool paused = false;     ///< nothing further is begun

    void add(const std::shared_ptr<name_lookup>& lookup)
    {
        const std::lock_guard lock(mutex);
        if (question* const same = already_asked(lookup->host)) {
            same->askers.push_back(lookup);
            return;
        }
        const auto asked = std::make_shared<question>(lookup);
        add_job({asked, [asked](const char* why_not) { asked->tell(why_not); }, asked.get()});
    }

    void add(job added)
    {
        const std::lock_guard lock(mutex);
        add_job(std::move(added));
    }

    void pause()
    {
        std::list<worker> all; // waits for their threads
        {
            const std::lock_guard lock(mutex);
            paused = true;
            all.swap(workers); // each keeps its place in memory
        }
        look_again.notify_all();
    }

    void go_on()
    {
        const std::lock_guard lock(mutex);
        paused = false;
        start_workers();
    }

private:
    // With the mutex locked:

    void add_job(job added)
    {
        const auto first_question = std::ranges::find_if(waiting, [](const job& each) { return each.asks != nullptr; });
        waiting.insert(added.asks ? waiting.end() : first_question, std::move(added));
        start_workers();
        look_again.notify_all();
    }

    [[nodiscard]] question* already_asked(const std::string& host) const
    {
        for (const worker& each : workers)
            if (each.at.asks && each.at.asks->host == host)
                return each.at.asks;
        for (const job& each : waiting)
            if (each.asks && each.asks->host == host)
                return each.asks;
        return nullptr;
    }

    [[nodiscard]] std::size_t count(bool (*which)(const worker&, clock::time_point)) const
    {
        const auto now = clock::now();
        return static_cast<std::size_t>(
            std::ranges::count_if(workers, [&](const worker& each) { return which(each, now); }));
    }
    static bool is_alive(const worker& w, clock::time_point) { return !w.ended; }
    static bool is_free(const worker& w, clock::time_point) { return !w.at.call && !w.ended; }
    static bool in_time(const worker& w, clock::time_point now) { return w.at.call && now < w.since + patience; }

    /// Makes as many threads as the names that wait need and may have. If all are busy, it makes one that waits with
    /// them.
    void start_workers()
    {
        if (paused)
            return;
        std::erase_if(workers, [](const worker& each) { return each.ended; });
        for (;;) {
            const std::size_t free = count(is_free);
            const bool enough = free >= waiting.size() || (free != 0 && free + count(in_time) >= at_once);
            if (enough || workers.size() >= most_threads + (other_waits() ? 1 : 0) || !start_worker())
                return;
        }
    }

    /// A call that is no question.
    [[nodiscard]] bool other_waits() const { return !waiting.empty() && !waiting.front().asks; }

    bool start_worker()
    {
        try {
            const runtime::no_signals there;
            worker& added = workers.emplace_back();
            added.thread = std::jthread([this, &added] { work(added); });
            return true;
        } catch (const std::exception& no_thread) {
            std::erase_if(workers, [](const worker& each) { return !each.thread.joinable(); });
            if (workers.empty()) { // else they come to it
                for (const job& each : waiting)
                    each.told(no_thread.what());
                waiting.clear();
            }
            return false;
        }
    }

    void work(worker& self)
    {
        std::unique_lock lock(mutex);
        while (!paused && !waiting.empty()) {
            const bool for_others = count(is_alive) > most_threads; // this one, or another instead of it
            if (!other_waits() && (for_others || count(in_time) >= at_once)) {
                if (in_reserve || for_others)
                    break;
                wait_for_a_late_one(lock);
                continue;
            }
            self.at = std::move(waiting.front());
            waiting.pop_front();
            if (!self.at.call->wanted()) {
                self.at = {};
                continue;
            }
            self.since = clock::now();
            start_workers();
            runtime::blocking_call& call = *self.at.call;
            lock.unlock();
            call.run();
            lock.lock();
            auto done = std::exchange(self.at, {}); // from here on it is asked anew
            lock.unlock();
            done.told(nullptr);
            done = {};
            lock.lock();
        }
        self.ended = true;
    }

    void wait_for_a_late_one(std::unique_lock<std::mutex>& lock)
    {
        const auto now = clock::now();
        auto first = now + patience;
        for (const worker& each : workers)
            if (in_time(each, now))
                first = std::min(first, each.since + patience);
        in_reserve = true;
        look_again.wait_until(lock, first);
        in_reserve = false;
    }
};

blocking_calls::blocking_calls(asio::execution_context& context)
    : service(context), current_(std::make_unique<shared>(runtime::fork_count()).release())
{
}

blocking_calls::~blocking_calls()
{
    delete current_.load();
}

void blocking_calls::begin(const std::shared_ptr<name_lookup>& lookup)
{
    runtime::of_this_process(current_).add(lookup);
}

void blocking_calls::begin(std::shared_ptr<runtime::blocking_call> call, runtime::call_told told)
{
    runtime::of_this_process(current_).add({std::move(call), std::move(told)});
}

void blocking_calls::shutdown()
{
    shared& own = runtime::of_this_process(current_);
    own.pause();
    own.waiting.clear();
}

void blocking_calls::notify_fork(asio::execution_context::fork_event event)
{
    shared& own = runtime::of_this_process(current_);
    event == asio::execution_context::fork_prepare ? own.pause() : own.go_on();
}

} // namespace zklock::bridge

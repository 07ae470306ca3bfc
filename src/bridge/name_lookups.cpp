#include "bridge/name_lookups.hpp"
#include "bridge/forks.hpp"

#include <boost/asio/ip/address_v4.hpp>
#include <boost/asio/ip/address_v6.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <cerrno>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <exception>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include <netdb.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

namespace zklock::bridge {

namespace asio = boost::asio;

namespace {

asio::ip::address address_of(const addrinfo& entry)
{
    if (entry.ai_family == AF_INET6) {
        sockaddr_in6 six{};
        std::memcpy(&six, entry.ai_addr, sizeof six);
        asio::ip::address_v6::bytes_type bytes;
        std::memcpy(bytes.data(), &six.sin6_addr, bytes.size());
        return asio::ip::address_v6(bytes, six.sin6_scope_id);
    }
    sockaddr_in four{};
    std::memcpy(&four, entry.ai_addr, sizeof four);
    return asio::ip::address_v4(ntohl(four.sin_addr.s_addr));
}

name_answer ask_the_system(const std::string& host)
{
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_protocol = IPPROTO_TCP;
    addrinfo* all = nullptr;
    const int code = ::getaddrinfo(host.c_str(), nullptr, &hints, &all);
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(code == 0 ? all : nullptr, &::freeaddrinfo);
    name_answer answer;
    for (const addrinfo* each = owner.get(); each; each = each->ai_next)
        if (each->ai_family == AF_INET || each->ai_family == AF_INET6)
            answer.addresses.push_back(address_of(*each));
    if (answer.addresses.empty())
        answer.why_none = code == 0            ? "no address"
                          : code == EAI_SYSTEM ? std::generic_category().message(errno)
                                               : ::gai_strerror(code);
    return answer;
}

/// While it lives, the threads that this one starts get no signals: those are the program's.
class no_signals {
public:
    no_signals()
    {
        sigset_t every;
        ::sigfillset(&every);
        ::pthread_sigmask(SIG_BLOCK, &every, &before_);
    }
    ~no_signals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
    no_signals(const no_signals&) = delete;
    no_signals& operator=(const no_signals&) = delete;

private:
    sigset_t before_{};
};

/// Who asked finds out when it asks again that there was no memory for the answer.
template <class Ask> void try_to_tell(const std::shared_ptr<name_lookup>& lookup, Ask ask) noexcept
{
    try {
        asio::post(lookup->strand, [lookup, answer = ask()] {
            if (!lookup->cancelled)
                lookup->done(answer);
        });
    } catch (...) {
        lookup->lost = true;
    }
}

} // namespace

/// What the threads share with each other and with the service.
struct name_lookups::shared {
    struct worker {
        std::thread thread;
        bool ended = false;
    };

    std::mutex mutex;
    std::deque<std::shared_ptr<name_lookup>> waiting;
    std::list<worker> workers;
    bool paused = false; ///< no further name is looked up

    void add(std::shared_ptr<name_lookup> lookup)
    {
        const std::lock_guard lock(mutex);
        waiting.push_back(std::move(lookup));
        start_worker();
    }

    void pause()
    {
        std::list<worker> all;
        {
            const std::lock_guard lock(mutex);
            paused = true;
            all.swap(workers); // each keeps its place in memory
        }
        for (auto& each : all)
            each.thread.join();
    }

    void go_on()
    {
        const std::lock_guard lock(mutex);
        paused = false;
        for (auto left = waiting.size(); left != 0; --left)
            start_worker();
    }

private:
    /// With the mutex locked: one more, if somebody waits and there may be another.
    void start_worker()
    {
        if (paused)
            return;
        for (auto each = workers.begin(); each != workers.end();)
            if (each->ended) {
                each->thread.join();
                each = workers.erase(each);
            } else {
                ++each;
            }
        if (waiting.empty() || workers.size() == most_threads)
            return;
        try {
            workers.emplace_back();
            try {
                const no_signals there;
                workers.back().thread = std::thread([this, &added = workers.back()] { work(added); });
            } catch (...) {
                workers.pop_back();
                throw;
            }
        } catch (const std::exception& no_thread) {
            if (!workers.empty())
                return; // they come to it
            for (const auto& lookup : waiting)
                try_to_tell(lookup, [&] { return name_answer{{}, no_thread.what()}; });
            waiting.clear();
        }
    }

    void work(worker& self)
    {
        std::unique_lock lock(mutex);
        while (!paused && !waiting.empty()) {
            const auto lookup = std::move(waiting.front());
            waiting.pop_front();
            lock.unlock();
            if (!lookup->cancelled)
                try_to_tell(lookup, [&] { return ask_the_system(lookup->host); });
            lock.lock();
        }
        self.ended = true;
    }
};

name_lookups::name_lookups(asio::execution_context& context)
    : service(context), shared_(std::make_unique<shared>()), fork_count_(fork_count())
{
}

name_lookups::~name_lookups() = default;

void name_lookups::begin(std::shared_ptr<name_lookup> lookup)
{
    of_this_process().add(std::move(lookup));
}

/// In a forked process there are no threads, and one of the parent's may have had the mutex: what they shared is left as
/// it was.
auto name_lookups::of_this_process() -> shared&
{
    if (const auto forks = fork_count(); forks != fork_count_) {
        auto fresh = std::make_unique<shared>();
        static_cast<void>(shared_.release());
        shared_ = std::move(fresh);
        fork_count_ = forks;
    }
    return *shared_;
}

void name_lookups::shutdown()
{
    shared& own = of_this_process();
    own.pause();
    own.waiting.clear();
}

void name_lookups::notify_fork(asio::execution_context::fork_event event)
{
    if (event == asio::execution_context::fork_prepare)
        of_this_process().pause();
    else
        of_this_process().go_on();
}

} // namespace zklock::bridge

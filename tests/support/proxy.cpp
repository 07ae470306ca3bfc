#include "support/proxy.hpp"

#include "support/port_lease.hpp"
#include "support/proxy_connection.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <condition_variable>
#include <list>
#include <mutex>
#include <system_error>
#include <thread>

namespace zklock::test {

namespace {

sockaddr_in loopback(std::uint16_t port)
{
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

void send_at_once(int fd)
{
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

unique_fd listen_on(std::uint16_t port)
{
    unique_fd fd{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
    const int on = 1;
    ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    const auto address = loopback(port);
    if (!fd || ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 ||
        ::listen(fd.get(), SOMAXCONN) != 0)
        throw std::system_error(errno, std::generic_category(), "proxy: listen");
    return fd;
}

} // namespace

/// The thread, its loop, and what they share with the tests' threads.
class proxy::relay {
public:
    relay(std::uint16_t server_port, std::optional<std::string> comes_from, speech spoken)
        : server_port(server_port), state{.spoken = spoken}, comes_from_(std::move(comes_from)),
          wake_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), listener_(listen_on(lease.port())),
          thread_([this] { run(); })
    {
    }

    ~relay()
    {
        change([this] { stopping_ = true; });
        thread_.join();
    }

    /// Has the loop run `f` between two turns, and returns when it did. Not from here: a descriptor that is closed
    /// while poll() watches it stays open until poll() returns.
    void change(std::function<void()> f)
    {
        std::unique_lock lock{mutex_};
        changes_.push_back(std::move(f));
        const auto mine = ++changes_asked_;
        wake();
        changed_.wait(lock, [&] { return changes_made_ >= mine; });
    }
    template <class F> auto look(F&& f) const
    {
        const std::lock_guard lock{mutex_};
        return f();
    }
    template <class F> void wait(const std::string& what, milliseconds limit, F&& holds)
    {
        std::unique_lock lock{mutex_};
        if (!changed_.wait_for(lock, limit, holds))
            throw std::runtime_error("proxy: not within " + std::to_string(limit.count()) + " ms: " + what);
    }

    // All but the lease and the port are guarded by the mutex.
    const port_lease lease;
    const std::uint16_t server_port;
    proxy_state state;
    std::list<proxy_connection> connections;
    std::vector<steady_clock::time_point> accepted; ///< when

    void set_listening(bool on) // within a change
    {
        if (on && !listener_)
            listener_ = listen_on(lease.port());
        if (!on)
            listener_.reset();
    }
    [[nodiscard]] bool listening() const { return static_cast<bool>(listener_); }

private:
    void wake()
    {
        const std::uint64_t one = 1;
        if (::write(wake_.get(), &one, sizeof one) < 0 && errno != EAGAIN) // full is awake, too
            throw std::system_error(errno, std::generic_category(), "proxy: wake");
    }

    void run()
    {
        std::unique_lock lock{mutex_};
        while (!stopping_) {
            std::vector<pollfd> entries{{wake_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
            auto due = steady_clock::time_point::max();
            for (const auto& connection : connections) {
                for (const auto& [fd, events] : connection.interest())
                    entries.push_back({fd, events, 0});
                due = std::min(due, connection.next_due());
            }
            int timeout = -1;
            if (due != steady_clock::time_point::max())
                timeout =
                    std::max(0, static_cast<int>(std::chrono::ceil<milliseconds>(due - steady_clock::now()).count()));
            lock.unlock();
            ::poll(entries.data(), entries.size(), timeout);
            lock.lock();

            std::uint64_t ignored = 0;
            static_cast<void>(!::read(wake_.get(), &ignored, sizeof ignored));
            for (const auto& change : changes_)
                change();
            changes_made_ += changes_.size();
            changes_.clear();
            accept_all();
            for (auto& connection : connections)
                connection.turn();
            connections.remove_if([](const auto& connection) { return connection.over(); });
            changed_.notify_all();
        }
    }

    void accept_all()
    {
        while (listener_) {
            unique_fd client{::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)};
            if (!client)
                return;
            unique_fd server{::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)};
            const auto address = loopback(server_port);
            accepted.push_back(steady_clock::now());
            if (comes_from_) {
                auto own = loopback(0);
                ::inet_pton(AF_INET, comes_from_->c_str(), &own.sin_addr);
                if (::bind(server.get(), reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0)
                    throw std::system_error(errno, std::generic_category(), "proxy: bind to " + *comes_from_);
            }
            if (::connect(server.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
                errno != EINPROGRESS)
                continue; // a server that is down: closing the client's side says so
            send_at_once(client.get());
            send_at_once(server.get());
            connections.emplace_back(std::move(client), std::move(server), state);
        }
    }

    const std::optional<std::string> comes_from_;
    mutable std::mutex mutex_;
    std::condition_variable changed_;
    unique_fd wake_;
    unique_fd listener_;
    std::vector<std::function<void()>> changes_;
    std::uint64_t changes_asked_ = 0, changes_made_ = 0;
    bool stopping_ = false;
    std::thread thread_;
};

proxy::proxy(std::uint16_t server_port, std::optional<std::string> comes_from, speech spoken)
    : relay_(std::make_unique<relay>(server_port, std::move(comes_from), spoken))
{
}

proxy::~proxy() = default;

std::uint16_t proxy::port() const
{
    return relay_->lease.port();
}

void proxy::cut()
{
    relay_->change([&] { relay_->connections.clear(); });
}

void proxy::refuse()
{
    relay_->change([&] { relay_->set_listening(false); });
}

void proxy::accept()
{
    relay_->change([&] { relay_->set_listening(true); });
}

void proxy::block(direction way)
{
    relay_->change([&] { relay_->state.blocked[way == direction::requests ? 0 : 1] = true; });
}

void proxy::block()
{
    relay_->change([&] { relay_->state.blocked = {true, true}; });
}

void proxy::unblock()
{
    relay_->change([&] { relay_->state.blocked = {false, false}; });
}

void proxy::delay(direction way, milliseconds time)
{
    relay_->change([&] { relay_->state.delays[way == direction::requests ? 0 : 1] = time; });
}

void proxy::on_next(opcode op, moment at, fate what, std::size_t skip)
{
    if (at == moment::delivered && what != fate::cut)
        throw std::invalid_argument("proxy: what was delivered can only be followed by a cut");
    relay_->change([&] { relay_->state.rules.push_back({.op = op, .at = at, .what = what, .skip = skip}); });
}

void proxy::refuse_next(opcode op, std::int32_t code)
{
    relay_->change(
        [&] { relay_->state.rules.push_back({.op = op, .at = moment::request, .what = fate::refuse, .code = code}); });
}

void proxy::wait_struck(milliseconds limit)
{
    relay_->wait("every rule struck", limit, [&] { return relay_->state.rules.empty(); });
}

bool proxy::struck() const
{
    return relay_->look([&] { return relay_->state.rules.empty(); });
}

void proxy::release()
{
    relay_->change([&] { ++relay_->state.releases; });
}

std::vector<seen_request> proxy::history() const
{
    return relay_->look([&] { return relay_->state.history; });
}

namespace {

std::size_t count_requests(const std::vector<seen_request>& history, opcode op, bool in_multi)
{
    const auto counts = [&](const seen_request& seen) {
        if (seen.in_multi != in_multi)
            return false;
        if (op == opcode::any)
            return seen.op != opcode::connect && seen.op != opcode::ping;
        return seen.op == op;
    };
    return static_cast<std::size_t>(std::count_if(history.begin(), history.end(), counts));
}

} // namespace

std::size_t proxy::count(opcode op) const
{
    return relay_->look([&] { return count_requests(relay_->state.history, op, false); });
}

std::size_t proxy::count_in_multis(opcode op) const
{
    return relay_->look([&] { return count_requests(relay_->state.history, op, true); });
}

void proxy::forget()
{
    relay_->change([&] { relay_->state.history.clear(); });
}

void proxy::wait_for_request(opcode op, std::size_t count, milliseconds limit)
{
    relay_->wait("request of type " + std::to_string(static_cast<int>(op)), limit,
                 [&] { return count_requests(relay_->state.history, op, false) >= count; });
}

std::size_t proxy::connections() const
{
    return relay_->look([&] { return relay_->connections.size(); });
}

std::size_t proxy::accepted() const
{
    return accepted_at().size();
}

std::vector<steady_clock::time_point> proxy::accepted_at() const
{
    return relay_->look([&] { return relay_->accepted; });
}

void proxy::wait_accepted(std::size_t count, milliseconds limit)
{
    relay_->wait("connection number " + std::to_string(count), limit, [&] { return relay_->accepted.size() >= count; });
}

std::string proxy::captured() const
{
    return relay_->look([&] {
        std::string all;
        for (const auto& bytes : relay_->state.captured)
            all += bytes;
        return all;
    });
}

std::vector<session_credentials> proxy::sessions() const
{
    return relay_->look([&] { return relay_->state.sessions; });
}

void proxy::expire_session(std::optional<std::int64_t> id)
{
    const auto known = sessions();
    const auto wanted = std::find_if(known.rbegin(), known.rend(), [&](const auto& s) { return !id || s.id == *id; });
    if (wanted == known.rend())
        throw std::runtime_error("proxy: no such session passed through here");
    // Lest its client takes it back while it is being ended.
    const bool listening = relay_->look([&] { return relay_->listening(); });
    refuse();
    close_session(relay_->server_port, *wanted);
    cut();
    if (listening)
        accept();
}

} // namespace zklock::test

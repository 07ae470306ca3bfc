// Two clients and one lock: A holds it, B waits, and B has it as soon as A lets go. Tells each step as it happens, and
// ends with status 1 if B had the lock before A gave it back.
#include "run_to_end.hpp"
#include "tls_arguments.hpp"

#include <zklock/zklock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace {

namespace asio = boost::asio;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

struct settings {
    std::string servers = "127.0.0.1:2181";
    zklock::tls_options tls;
    zklock::sasl_options sasl;
    std::string path = "/zklock-demo/two-clients";
    std::string path_of_b; ///< empty: the same
    int hold_ms = 2'000;
    int timeout_ms = 30'000;
};

/// What happened so far, with the time since the program began. It comes out line by line, also into a pipe.
class narrator {
public:
    template <class... Arguments> void tell(fmt::format_string<Arguments...> text, Arguments&&... arguments)
    {
        fmt::print("{:>6.0f} ms  {}\n", since(began_), fmt::format(text, std::forward<Arguments>(arguments)...));
        std::fflush(stdout);
    }

    static double since(clock::time_point earlier)
    {
        return std::chrono::duration<double, std::milli>(clock::now() - earlier).count();
    }

private:
    clock::time_point began_ = clock::now();
};

/// Something that happens once, and that a coroutine of the same thread waits for.
class occasion {
public:
    explicit occasion(asio::any_io_executor executor) : timer_(std::move(executor), clock::time_point::max()) {}

    void happen()
    {
        happened_ = true;
        timer_.cancel();
    }
    [[nodiscard]] bool happened() const { return happened_; }
    asio::awaitable<void> wait()
    {
        if (!happened_) {
            co_await timer_.async_wait(asio::as_tuple(asio::use_awaitable));
        }
    }

private:
    asio::steady_timer timer_;
    bool happened_ = false;
};

/// B's acquire: it runs beside A's hold.
struct waiting_client {
    explicit waiting_client(asio::any_io_executor executor) : in_line(executor), ended(executor) {}

    occasion in_line; ///< it has a place in the queue, or its acquire has ended
    occasion ended;
    std::shared_ptr<const zklock::contender> behind; ///< whom it waits behind, once it is in line
    std::optional<zklock::guard> held;
    boost::system::error_code error;
};

zklock::client client_named(const std::string& name, asio::any_io_executor executor, const settings& s)
{
    zklock::client_options options;
    options.servers = s.servers;
    options.tls = s.tls;
    options.sasl = s.sasl;
    options.identifier = name; // in the queue, and in the log, which ZKLOCK_LOG turns on
    return {executor, options};
}

asio::awaitable<void> acquire(zklock::mutex lock, milliseconds timeout, std::shared_ptr<waiting_client> b)
{
    zklock::result<zklock::guard> held = co_await lock.acquire(timeout);
    if (held) {
        b->held = std::move(held).value();
    } else {
        b->error = held.error();
    }
    b->ended.happen();
    b->in_line.happen();
}

std::string name_of_node(const std::string& node)
{
    return node.substr(node.rfind('/') + 1);
}

/// A holds the lock, and B has asked for it. Returns whether everything came in its order.
asio::awaitable<bool> hand_over(const settings& s, narrator& story, zklock::guard a, zklock::mutex b_lock,
                                waiting_client& b)
{
    co_await b.in_line.wait();
    if (b.ended.happened()) {
        if (b.held) {
            story.tell("FAILED: B had the lock while A held it, with token {}", b.held->fencing_token());
        } else {
            story.tell("FAILED: B could not queue: {}", b.error.message());
        }
        co_return false;
    }
    story.tell("B is in line{}:", b.behind ? " behind " + b.behind->identifier : "");
    auto queue = co_await b_lock.contenders(); // read where B's own node has been made
    if (!queue) {
        story.tell("FAILED: the queue could not be read: {}", queue.error().message());
        co_return false;
    }
    for (const zklock::contender& c : queue.value()) {
        fmt::print("               {}  session {:#x}  {}\n", c.identifier, c.session_id, name_of_node(c.node));
    }
    if (queue.value().empty() || queue.value().front().node != a.node()) {
        story.tell("FAILED: B is not in line behind A");
        co_return false;
    }

    asio::steady_timer hold(co_await asio::this_coro::executor, milliseconds(s.hold_ms));
    co_await hold.async_wait(asio::use_awaitable);
    const bool waited = !b.ended.happened();
    const std::int64_t a_token = a.fencing_token();
    const auto let_go = clock::now();
    story.tell("A lets go");
    auto released = co_await std::move(a).release();
    if (!released) {
        story.tell("FAILED: A had lost the lock: {}", released.error().message());
        co_return false;
    }
    co_await b.ended.wait();
    const double later = narrator::since(let_go);
    if (!b.held) {
        story.tell("FAILED: B did not get the lock: {}", b.error.message());
        co_return false;
    }
    if (!waited || b.held->fencing_token() <= a_token) {
        story.tell("FAILED: B had the lock before A gave it back, with token {}", b.held->fencing_token());
        co_return false;
    }
    story.tell("B holds it, {:.1f} ms later, with token {}", later, b.held->fencing_token());
    auto last = co_await std::move(*b.held).release();
    if (!last) {
        story.tell("FAILED: B has lost the lock: {}", last.error().message());
        co_return false;
    }
    story.tell("B lets go");
    co_return true;
}

/// Everything between the clients' first connection and their close.
asio::awaitable<bool> play(const settings& s, zklock::client a, zklock::client b)
{
    const auto executor = co_await asio::this_coro::executor;
    const milliseconds timeout(s.timeout_ms);
    narrator story;
    for (zklock::client* each : {&a, &b}) {
        auto connected = co_await each->wait_connected(timeout);
        if (!connected) {
            fmt::print(stderr, "two clients: no ZooKeeper at {}: {}\n", s.servers, connected.error().message());
            co_return false;
        }
    }
    story.tell("A and B are connected to {}{}{}: two sessions", s.servers, s.tls.enabled ? ", with TLS" : "",
               s.sasl.user.empty() ? "" : ", as " + s.sasl.user);

    zklock::mutex a_lock(a, s.path);
    zklock::result<zklock::guard> held = co_await a_lock.acquire(timeout);
    if (!held) {
        story.tell("FAILED: A did not get the lock: {}", held.error().message());
        co_return false;
    }
    story.tell("A holds {}, with token {}", s.path, held.value().fencing_token());

    auto waiting = std::make_shared<waiting_client>(executor);
    zklock::mutex_options options;
    options.listener = zklock::listen(executor, [waiting](const zklock::lock_event& e) {
        if (e.what == zklock::lock_event::kind::queued) {
            waiting->behind = e.behind;
            waiting->in_line.happen();
        }
    });
    zklock::mutex b_lock(b, s.path_of_b.empty() ? s.path : s.path_of_b, options);
    story.tell("B asks for it");
    asio::co_spawn(executor, acquire(b_lock, timeout + milliseconds(s.hold_ms), waiting), [](std::exception_ptr e) {
        if (e) {
            std::rethrow_exception(e);
        }
    });
    const bool well = co_await hand_over(s, story, std::move(held).value(), b_lock, *waiting);
    if (!waiting->ended.happened()) {
        auto closed = co_await b.close(); // ends its acquire
        co_await waiting->ended.wait();
        co_return (well && closed);
    }
    co_return well;
}

asio::awaitable<int> run(const settings& s)
{
    const auto executor = co_await asio::this_coro::executor;
    zklock::client a = client_named("A", executor, s);
    zklock::client b = client_named("B", executor, s);
    bool well = co_await play(s, a, b);
    for (zklock::client* each : {&a, &b}) {
        auto closed = co_await each->close();
        if (!closed) {
            fmt::print(stderr, "two clients: closing: {}\n", closed.error().message());
            well = false;
        }
    }
    co_return well ? 0 : 1;
}

} // namespace

int main(int argc, char** argv)
{
    settings s;
    CLI::App app("Two clients and one lock: one holds it, the other waits, and has it when the first lets go.");
    app.footer("With ZKLOCK_LOG=info in the environment, it writes to stderr what the locks and the connections do.");
    app.add_option("--servers", s.servers, "ZooKeeper's HOST:PORT[,HOST:PORT...]")->capture_default_str();
    demo::add_tls_arguments(app, s.tls);
    demo::add_sasl_arguments(app, s.sasl);
    app.add_option("--path", s.path, "the lock")->capture_default_str();
    app.add_option("--path-of-b", s.path_of_b, "another lock for B: then B does not wait, and the program fails");
    app.add_option("--hold", s.hold_ms, "milliseconds that A holds the lock while B waits")
        ->check(CLI::Range(0, 3'600'000))
        ->capture_default_str();
    app.add_option("--timeout", s.timeout_ms, "milliseconds for each step")
        ->check(CLI::Range(1, 3'600'000))
        ->capture_default_str();
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& e) {
        return app.exit(e) == 0 ? 0 : 2;
    }

    return demo::run_to_end(run(s), "two clients");
}

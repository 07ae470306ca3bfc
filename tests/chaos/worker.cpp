#include "chaos/worker.hpp"

#include "chaos/event_file.hpp"
#include "support/as_tuple.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <system_error>

namespace zklock::chaos {
namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::milliseconds;

std::string name_of(const error_code& ec)
{
    if (!ec)
        return "ok";
    if (ec == asio::error::operation_aborted)
        return "aborted";
    if (ec == errc::timed_out)
        return "timed_out";
    if (ec == errc::busy)
        return "busy";
    if (ec == errc::lost)
        return "lost";
    if (ec == errc::not_connected)
        return "not_connected";
    if (ec == errc::outcome_unknown)
        return "outcome_unknown";
    std::string text = ec.message();
    std::replace(text.begin(), text.end(), ' ', '_');
    return text;
}

using log_file = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

log_file open_log(const std::string& path)
{
    log_file file(std::fopen(path.c_str(), "w"), &std::fclose);
    if (!file)
        throw std::system_error(errno, std::generic_category(), path);
    return file;
}

struct held_path {
    unsigned operation = 0;
    std::string path;
    const char* kind = ""; ///< of lock: see operation
    std::int64_t token = 0;
    std::string node{};
};

class worker {
public:
    explicit worker(const worker_options& options)
        : options_(options), random_(options.seed), log_(open_log(options.log)), client_(context_, options_of_client()),
          signals_(context_, SIGTERM, SIGUSR1, SIGUSR2), part_ended_(context_), events_(options.events)
    {
        signals_.add(SIGHUP);
    }

    void run()
    {
        wait_for_signal();
        asio::co_spawn(context_, live(), [](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
        });
        context_.run();
    }

private:
    using local = asio::local::stream_protocol;

    [[nodiscard]] client_options options_of_client() const
    {
        client_options o;
        o.log = log_to(log_.get(), log_level::debug);
        o.servers = options_.servers;
        o.session_timeout = milliseconds(options_.session_timeout);
        o.server_tick = milliseconds(options_.server_tick);
        o.connect_backoff = milliseconds(20);
        o.connect_backoff_limit = milliseconds(300);
        if (options_.handoff) {
            o.handoff.listen = "127.0.0.1:0";
            o.handoff.peers = {"127.0.0.0/8"};
        }
        return o;
    }

    void wait_for_signal()
    {
        signals_.async_wait([this](error_code ec, int number) {
            if (ec)
                return;
            stopping_ = stopping_ || number == SIGTERM;
            if (number == SIGUSR1)
                holding_on_ = true;
            if (number == SIGHUP)
                writes_until_stop_ = between(1, 3);
            if (number == SIGTERM || number == SIGUSR2) {
                holding_on_ = false;
                writes_until_stop_ = 0;
            }
            wait_for_signal();
        });
    }

    [[nodiscard]] unsigned between(unsigned least, unsigned most)
    {
        return std::uniform_int_distribution(least, most)(random_);
    }
    awaitable<void> pass(milliseconds time)
    {
        asio::steady_timer timer(context_, time);
        co_await timer.async_wait(test::as_tuple);
    }

    awaitable<void> live()
    {
        for (unsigned i = 0; i < options_.contenders; ++i)
            begin(contend());
        co_await until_all_ended();
        if (options_.handoff) {
            begin(visit_locks());
            begin(visit_cohort());
            begin(visit_cohort());
            begin(visit_shared());
        } else {
            begin(visit_all());
        }
        co_await until_all_ended();
        const auto [ec] = co_await client_.close(test::as_tuple);
        if (ec)
            throw std::runtime_error("close: " + ec.message());
        events_.note("closed", 0, now());
        signals_.cancel();
    }

    void begin(awaitable<void> part)
    {
        ++running_;
        asio::co_spawn(context_, std::move(part), [this](std::exception_ptr e) {
            if (e)
                std::rethrow_exception(e);
            --running_;
            part_ended_.cancel();
        });
    }
    awaitable<void> until_all_ended()
    {
        while (running_ != 0) {
            part_ended_.expires_at(asio::steady_timer::time_point::max());
            co_await part_ended_.async_wait(test::as_tuple);
        }
    }

    awaitable<void> connect(local::socket& writing)
    {
        const local::endpoint endpoint(options_.resource);
        co_await writing.async_connect(endpoint, asio::use_awaitable);
    }

    awaitable<void> contend()
    {
        local::socket writing(context_);
        co_await connect(writing);
        static constexpr const char* modes[] = {"timed",     "timed", "timed",    "unlimited",
                                                "unlimited", "try",   "cancelled"};
        while (!stopping_) {
            const std::string_view mode = modes[between(0, std::size(modes) - 1)];
            co_await visit(any_path(), mode, writing);
            co_await pass(milliseconds(between(0, 60)));
        }
    }

    /// The one that lingers is less in use: where somebody waits all the time, no node lingers.
    [[nodiscard]] unsigned any_path()
    {
        static constexpr unsigned with_handoff[] = {0, 0, 1, 2, 2, 3, 3};
        return options_.handoff ? with_handoff[between(0, std::size(with_handoff) - 1)] : between(0, paths_ - 1);
    }

    /// Acquires the lock of that path: see paths_of().
    awaitable<void> visit(unsigned path, std::string_view mode, local::socket& writing)
    {
        if (!options_.handoff) {
            mutex lock(client_, path_of(path));
            co_await visit_one(lock, path, "mutex", mode, writing);
            co_return;
        }
        switch (path) {
        case 0:
            if (between(0, 2) == 0)
                co_await visit_several(mode, writing);
            else
                co_await visit_first(mode, writing);
            break;
        case 1: co_await visit_lingering(mode, between(0, 1) == 0 ? "try" : mode, writing); break;
        case 2: co_await visit_cohort(mode, writing); break;
        default:
            if (between(0, 1) == 0)
                co_await write_shared(mode, between(0, 1) == 0, writing);
            else
                co_await read_shared(mode, writing);
        }
    }

    awaitable<void> visit_one(mutex& lock, unsigned path, const char* kind, std::string_view mode,
                              local::socket& writing)
    {
        std::vector<held_path> wanted{{0, path_of(path), kind}};
        co_await turn<guard>(lock, wanted, mode, writing);
    }
    awaitable<void> visit_first(std::string_view mode, local::socket& writing)
    {
        mutex lock(client_, path_of(0));
        co_await visit_one(lock, 0, "mutex", mode, writing);
    }
    /// Again at once, while its node may still be there.
    awaitable<void> visit_lingering(std::string_view mode, std::string_view mode_then, local::socket& writing)
    {
        mutex lock = lingering();
        co_await visit_one(lock, 1, "lingering", mode, writing);
        co_await visit_one(lock, 1, "lingering", mode_then, writing);
    }
    awaitable<void> visit_several(std::string_view mode, local::socket& writing)
    {
        std::vector<held_path> wanted{{0, path_of(0), "several"}, {0, path_of(1), "several"}};
        multi_lock both(mutex(client_, path_of(0)), lingering());
        co_await turn<multi_guard>(both, wanted, mode, writing);
    }
    awaitable<void> visit_cohort(std::string_view mode, local::socket& writing)
    {
        mutex_options together;
        together.cohort = 3;
        mutex lock(client_, path_of(2), together);
        co_await visit_one(lock, 2, "cohort", mode, writing);
    }
    awaitable<void> write_shared(std::string_view mode, bool downgrades, local::socket& writing)
    {
        std::vector<held_path> wanted{{0, path_of(3), "writer"}};
        shared_mutex shared(client_, path_of(3));
        co_await turn<guard>(shared, wanted, mode, writing, downgrades ? &shared : nullptr);
    }
    awaitable<void> read_shared(std::string_view mode, local::socket& writing)
    {
        shared_mutex shared(client_, path_of(3));
        co_await read(shared.shared(), mode, writing);
    }
    [[nodiscard]] mutex lingering() const
    {
        mutex_options options;
        options.linger = milliseconds(200);
        options.cohort = 3;
        return {client_, path_of(1), options};
    }

    // At its end. With the hand-off, whoever is alone then does all that the hand-off is for.

    awaitable<void> visit_all()
    {
        local::socket writing(context_);
        co_await connect(writing);
        for (unsigned i = 0; i < paths_; ++i)
            co_await visit(i, "unlimited", writing);
    }
    awaitable<void> visit_locks()
    {
        local::socket writing(context_);
        co_await connect(writing);
        co_await visit_lingering("unlimited", "try", writing);
        co_await visit_first("unlimited", writing);
        co_await visit_several("unlimited", writing);
    }
    awaitable<void> visit_cohort()
    {
        local::socket writing(context_);
        co_await connect(writing);
        co_await visit_cohort("unlimited", writing);
    }
    awaitable<void> visit_shared()
    {
        local::socket writing(context_);
        co_await connect(writing);
        co_await write_shared("unlimited", true, writing);
        co_await read_shared("unlimited", writing);
    }

    using reading_side = const acquirable<guard>; ///< of a shared mutex

    awaitable<void> read(reading_side readers, std::string_view mode, local::socket& writing)
    {
        std::vector<held_path> wanted{{0, path_of(3), "reader"}};
        co_await turn<guard>(readers, wanted, mode, writing);
    }

    template <class... Words> void note(const std::vector<held_path>& all, const char* what, const Words&... words)
    {
        const auto at = now();
        for (const auto& each : all)
            events_.note(what, each.operation, at, words...);
    }

    /// One acquire, hold and release: an operation for each of the paths. A writer may read on.
    template <class Guard, class Lock>
    awaitable<void> turn(Lock& lock, std::vector<held_path>& all, std::string_view mode, local::socket& writing,
                         shared_mutex* downgrades = nullptr)
    {
        constexpr bool reads = std::is_same_v<Lock, reading_side>;
        const milliseconds limit(between(1, 2500));
        const auto started = now();
        for (auto& each : all) {
            each.operation = ++last_operation_;
            events_.note("start", each.operation, started, mode, in_nanoseconds(limit), each.path, each.kind);
            if (reads)
                events_.note("shares", each.operation, started);
        }
        std::tuple<error_code, Guard> ended;
        if (mode == "timed") {
            ended = co_await lock.acquire(limit, test::as_tuple);
        } else if (mode == "try") {
            ended = co_await lock.try_acquire(test::as_tuple);
        } else if (mode == "unlimited") {
            ended = co_await lock.acquire(test::as_tuple);
        } else {
            const auto cancel = std::make_shared<asio::cancellation_signal>();
            asio::steady_timer timer(context_, limit);
            timer.async_wait([this, cancel, all](error_code ec) {
                if (ec || !cancel->slot().has_handler())
                    return;
                note(all, "cancel");
                cancel->emit(asio::cancellation_type::terminal);
            });
            auto cancellable = asio::bind_cancellation_slot(cancel->slot(), test::as_tuple);
            ended = co_await lock.acquire(std::move(cancellable));
            cancel->slot().clear();
        }
        const auto at = now();
        Guard held = std::move(std::get<Guard>(ended));
        const error_code ec = std::get<error_code>(ended);
        const bool is_held = static_cast<bool>(held);
        if (!ec)
            take_nodes(all, held);
        for (const auto& each : all)
            events_.note("end", each.operation, at, ec ? name_of(ec) : "granted", each.token, is_held,
                         ec ? "-" : each.node);
        note_handoffs();
        if (!ec)
            co_await hold<Guard>(all, std::move(held), writing, reads, downgrades);
    }

    static void take_nodes(std::vector<held_path>& all, const guard& held)
    {
        all.front().token = held.fencing_token();
        all.front().node = held.node();
    }
    static void take_nodes(std::vector<held_path>& all, const multi_guard& held)
    {
        for (const auto& lock : held.locks()) {
            const auto each = std::ranges::find(all, lock.path, &held_path::path);
            each->token = lock.fencing_token;
            each->node = lock.node;
        }
    }

    /// By which of its grants the client has been ahead of the servers.
    void note_handoffs()
    {
        if (!options_.handoff)
            return;
        const auto taken = client_.metrics().handoff.taken;
        if (std::exchange(taken_, taken) != taken)
            events_.note("by_certificate", 0, now(), taken);
    }

    template <class Guard>
    awaitable<void> hold(const std::vector<held_path>& all, Guard held, local::socket& writing, bool reads,
                         shared_mutex* downgrades)
    {
        held.wait_lost([this, all](error_code ec) { note(all, "told", ec ? name_of(ec) : "lost"); });
        const auto longest = in_nanoseconds(milliseconds(between(0, 9) == 0 ? between(200, 2500) : between(0, 120)));
        const bool commits = options_.handoff && between(0, 3) == 0;
        const auto begun = now();
        instant believed = begun, lease_end = begun;
        bool lost = false, drops = false;
        for (;;) {
            const auto looked_at = now();
            const auto until = in_nanoseconds(held.held_until().time_since_epoch());
            if (!held) {
                lost = true;
                believed = std::max(believed, std::min(looked_at, lease_end));
                break;
            }
            believed = looked_at;
            lease_end = until;
            if constexpr (std::is_same_v<Guard, guard>)
                if (downgrades && looked_at - begun >= longest / 2) {
                    reads = true;
                    note(all, "shares");
                    auto* const shared = std::exchange(downgrades, nullptr);
                    auto [ec, reader] = co_await shared->downgrade(std::move(held), test::as_tuple);
                    held = std::move(reader);
                    drops = ec.failed(); // it was lost, and there is no guard any more
                    continue;
                }
            // One that is to stop before a write has to come to a write.
            const bool holds_on = holding_on_ && !(reads && writes_until_stop_ != 0);
            if (!holds_on && looked_at - begun >= longest)
                break;
            if (!reads && commits && writes_until_stop_ == 0)
                co_await commit(all, held);
            else if (!reads)
                for (const auto& each : all)
                    co_await write(each.operation, each.path, each.token, looked_at, writing);
            co_await pass(milliseconds(between(1, 25)));
        }
        for (const auto& each : all)
            events_.note("believed", each.operation, believed, lost);
        if (drops || between(0, 3) == 0) { // whoever drops a guard is not told when the node is gone
            held = Guard();
            note(all, "released", "dropped");
        } else {
            const auto [ec] = co_await std::move(held).release(test::as_tuple);
            note(all, "released", name_of(ec));
        }
    }

    /// Leaves a node for each of the paths, if the lock is still held.
    template <class Guard> awaitable<void> commit(const std::vector<held_path>& all, const Guard& held)
    {
        transaction what;
        for (const auto& each : all) {
            events_.note("commit", each.operation, now(), ++last_commit_);
            what.create(journal_of(each.path) + "/c-",
                        journal_entry(options_.process, each.operation, last_commit_, each.token),
                        node_kind::persistent_sequential);
        }
        const auto last = last_commit_;
        const auto [ec, done] = co_await held.commit(std::move(what), test::as_tuple);
        for (std::size_t i = 0; i < all.size(); ++i)
            events_.note("committed", all[i].operation, now(), last - (all.size() - 1 - i), name_of(ec));
    }

    awaitable<void> write(unsigned operation, const std::string& path, std::int64_t token, instant sent,
                          local::socket& writing)
    {
        const bool stops = writes_until_stop_ != 0 && --writes_until_stop_ == 0;
        if (stops) {
            events_.note("stop", operation, now(), path, token);
            ::raise(SIGSTOP); // somebody else lets it go on
        }
        std::ostringstream request;
        request << options_.process << ' ' << operation << ' ' << path << ' ' << token << ' ' << sent << ' ' << stops
                << '\n';
        const std::string text = std::move(request).str();
        co_await asio::async_write(writing, asio::buffer(text), asio::use_awaitable);
        char answer[2];
        co_await asio::async_read(writing, asio::buffer(answer), asio::use_awaitable);
    }

    worker_options options_;
    const unsigned paths_ = paths_of(options_.handoff);
    std::mt19937_64 random_;
    const log_file log_;
    asio::io_context context_;
    client client_;
    asio::signal_set signals_;
    asio::steady_timer part_ended_;
    event_file events_;
    unsigned last_operation_ = 0;
    std::size_t last_commit_ = 0;
    std::uint64_t taken_ = 0; ///< grants by certificates
    unsigned running_ = 0;
    bool stopping_ = false;
    bool holding_on_ = false;
    unsigned writes_until_stop_ = 0; ///< 0: it does not stop
};

} // namespace

unsigned paths_of(bool handoff)
{
    return handoff ? 4 : 3;
}

std::string path_of(unsigned number)
{
    return "/chaos/" + std::to_string(number);
}

std::string journal_of(const std::string& path)
{
    return "/journals" + path;
}

std::string journal_entry(int process, unsigned operation, std::size_t number, std::int64_t token)
{
    std::ostringstream data;
    data << process << ' ' << operation << ' ' << number << ' ' << token;
    return std::move(data).str();
}

int run_worker(const worker_options& options)
{
    worker w(options);
    w.run();
    return 0;
}

} // namespace zklock::chaos

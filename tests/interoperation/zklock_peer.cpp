// zklock_peer NAME SERVERS SESSION_TIMEOUT_MS JOURNAL [direct]: a peer with a session of ours, which hands locks over
// past the servers if it is told so; peer.hpp tells what it reads and notes. Recipes: mutex, read, write, semaphore
// (`take` of `permits`, or of as many as the node `count` says; compared with `check`), election. Options: names=kazoo,
// mark=MARK, heeds=MARK,… ("bare" for none), linger=MS, cohort=N, revocable=1, owner=1 (a reader or writer is one).
#include "interoperation/journal.hpp"
#include "support/zookeeper_server.hpp"
#include "zklock/zklock.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/steady_timer.hpp>

#include <cstdlib>
#include <deque>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>

namespace {

namespace asio = boost::asio;
using asio::awaitable;
using std::chrono::milliseconds;
using zklock::error_code;
using zklock::result;

/// What this peer notes in the journal of its test.
class notes {
public:
    notes(std::string name, const char* file) : name_(std::move(name)), noted_(file, true) {}

    void note(const std::string& attempt, const std::string& what)
    {
        const auto event = what.substr(0, what.find(' '));
        noted_.note(name_ + " " + attempt + " " + event + " " +
                    std::to_string(std::chrono::steady_clock::now().time_since_epoch().count()) +
                    what.substr(event.size()));
    }

private:
    std::string name_;
    zklock::test::journal noted_;
};

/// One who acquires, holds and releases. Its orders come from outside.
struct attempt {
    attempt(asio::any_io_executor executor, std::vector<std::string> words) : ordered(std::move(executor))
    {
        name = words.at(1);
        recipe = words.at(2);
        path = words.at(3);
        for (std::size_t i = 4; i < words.size(); ++i)
            options[words[i].substr(0, words[i].find('='))] = words[i].substr(words[i].find('=') + 1);
    }

    [[nodiscard]] unsigned long number(const std::string& option, unsigned long otherwise) const
    {
        const auto found = options.find(option);
        return found == options.end() ? otherwise : std::stoul(found->second);
    }
    [[nodiscard]] std::optional<milliseconds> duration(const std::string& option) const
    {
        const auto found = options.find(option);
        if (found == options.end())
            return std::nullopt;
        return milliseconds(std::stol(found->second));
    }
    void order(const std::string& word)
    {
        orders.push_back(word);
        ordered.cancel();
    }

    std::string name, recipe, path;
    std::map<std::string, std::string> options;
    asio::cancellation_signal cancel;
    std::deque<std::string> orders;
    asio::steady_timer ordered;
};

class worker {
public:
    worker(asio::io_context& io, std::string name, std::string servers, milliseconds session_timeout, const char* file,
           bool direct)
        : io_(io), journal_(std::move(name), file),
          client_(io, options_for(std::move(servers), session_timeout, direct))
    {
    }

    awaitable<void> serve()
    {
        must("not connected", co_await client_.wait_connected(std::chrono::seconds(60)));
        journal_.note("-", "ready");
        asio::posix::stream_descriptor in(io_, ::dup(STDIN_FILENO));
        std::string text;
        for (;;) {
            const std::size_t length =
                co_await asio::async_read_until(in, asio::dynamic_buffer(text), '\n', asio::use_awaitable);
            std::istringstream line(text.substr(0, length));
            text.erase(0, length);
            std::vector<std::string> words(std::istream_iterator<std::string>(line), {});
            if (words.at(0) == "quit")
                break;
            obey(std::move(words));
        }
        must("close", co_await client_.close());
    }

private:
    static zklock::client_options options_for(std::string servers, milliseconds session_timeout, bool direct)
    {
        zklock::client_options o;
        o.servers = std::move(servers);
        o.session_timeout = session_timeout;
        o.server_tick = zklock::test::usual_tick;
        o.connect_backoff = milliseconds(20);
        o.connect_backoff_limit = milliseconds(200);
        if (const char* const identity = std::getenv("ZKLOCK_PEER_SASL")) {
            std::istringstream words(identity);
            std::string mechanism;
            words >> mechanism;
            o.access = zklock::acl::creator_all;
            if (mechanism == "GSSAPI") {
                o.sasl.mechanism = zklock::sasl_mechanism::gssapi;
                words >> o.sasl.keytab;
            } else {
                o.sasl.mechanism = zklock::sasl_mechanism::digest_md5;
                words >> o.sasl.user >> o.sasl.password;
            }
        }
        if (direct) {
            o.handoff.listen = "127.0.0.1:0";
            o.handoff.peers.emplace_back("127.0.0.0/8");
        }
        return o;
    }

    static zklock::naming names_of(const attempt& a)
    {
        const auto names = a.options.find("names");
        return names != a.options.end() && names->second == "kazoo" ? zklock::naming::kazoo : zklock::naming::curator;
    }

    static zklock::shared_mutex_options shared_options_of(const attempt& a)
    {
        zklock::shared_mutex_options o;
        o.names = names_of(a);
        return o;
    }
    static zklock::mutex_options options_of(const attempt& a)
    {
        zklock::mutex_options o;
        o.names = names_of(a);
        if (a.options.contains("mark"))
            o.mark = a.options.at("mark");
        if (a.options.contains("heeds")) {
            std::istringstream marks(a.options.at("heeds"));
            for (std::string mark; std::getline(marks, mark, ',');)
                o.also_heeds.push_back(mark == "bare" ? std::string() : mark);
        }
        o.linger = a.duration("linger").value_or(milliseconds(0));
        o.cohort = static_cast<unsigned>(a.number("cohort", 1));
        return o;
    }

    void obey(std::vector<std::string> words)
    {
        if (words[0] == "acquire") {
            auto made = std::make_shared<attempt>(io_.get_executor(), words);
            attempts_[made->name] = made;
            asio::co_spawn(io_, live(made), asio::detached);
            return;
        }
        if (words[0] == "revoke") {
            zklock::contender whom;
            whom.node = words.at(1);
            zklock::mutex lock(client_, whom.node.substr(0, whom.node.rfind('/')));
            lock.revoke(whom, [](error_code ec) {
                if (ec)
                    throw std::runtime_error("revoke: " + ec.message());
            });
            return;
        }
        if (words[0] == "handoffs") {
            const zklock::handoff_metrics counted = client_.metrics().handoff;
            journal_.note("-", "handoffs " + std::to_string(counted.taken) + " " + std::to_string(counted.given));
            return;
        }
        attempt& a = *attempts_.at(words.at(1));
        if (words[0] == "cancel")
            a.cancel.emit(asio::cancellation_type::terminal);
        else
            a.order(words[0]);
    }

    awaitable<void> live(std::shared_ptr<attempt> a)
    {
        std::string failure;
        try {
            const auto times = a->number("times", 1);
            for (unsigned long i = 0; i < times; ++i) {
                if (a->recipe == "mutex")
                    co_await turn_of_mutex(*a);
                else if (a->options.contains("owner"))
                    co_await turn_of_owner(*a);
                else if (a->recipe == "read" || a->recipe == "write")
                    co_await turn_of_shared_mutex(*a);
                else if (a->recipe == "semaphore")
                    co_await turn_of_semaphore(*a);
                else if (a->recipe == "election")
                    co_await turn_of_election(*a);
                else
                    throw std::invalid_argument("there is no recipe " + a->recipe);
            }
        } catch (const std::exception& e) {
            failure = e.what();
        }
        journal_.note(a->name, failure.empty() ? "done" : "failed " + failure);
    }

    /// What an acquire ends with that gives no lock; throws what should not be.
    void note_refusal(const attempt& a, error_code ec)
    {
        if (ec == zklock::condition::not_in_time)
            journal_.note(a.name, "gave-up timed-out");
        else if (ec == zklock::errc::busy)
            journal_.note(a.name, "gave-up busy");
        else if (ec == asio::error::operation_aborted)
            journal_.note(a.name, "gave-up cancelled");
        else
            throw std::runtime_error(ec.message());
    }

    /// Gives what should be there, and throws why it is not.
    template <class T> static T must(const char* what, result<T> r)
    {
        if (r.has_error())
            throw std::runtime_error(std::string(what) + ": " + r.error().message());
        if constexpr (!std::is_void_v<T>)
            return std::move(r).value();
    }
    /// Cancelled by order.
    static auto cancellable(attempt& a)
    {
        return asio::bind_cancellation_slot(a.cancel.slot(), zklock::as_result(asio::use_awaitable));
    }
    static milliseconds wait_of(const attempt& a)
    {
        return a.duration("wait").value_or(milliseconds::max()); // for ever
    }

    awaitable<void> turn_of_mutex(attempt& a)
    {
        zklock::mutex lock(client_, a.path, options_of(a));
        auto token = cancellable(a);
        result<zklock::guard> held = co_await lock.acquire(wait_of(a), token);
        co_await use(a, held, "exclusive");
    }

    awaitable<void> turn_of_shared_mutex(attempt& a)
    {
        zklock::shared_mutex lock(client_, a.path, shared_options_of(a));
        auto token = cancellable(a);
        result<zklock::guard> held = error_code(asio::error::operation_aborted);
        if (a.recipe == "write")
            held = co_await lock.acquire(wait_of(a), token);
        else
            held = co_await lock.shared().acquire(wait_of(a), token);
        const auto read_on = [&](zklock::guard wrote) -> awaitable<zklock::guard> {
            co_return must("downgrade", co_await lock.downgrade(std::move(wrote)));
        };
        co_await use(a, held, a.recipe == "write" ? "exclusive" : "shared", read_on);
    }

    /// An owner who holds twice; as Curator's threads do, he reads on by a hold as a reader that he has beside the
    /// writer's.
    awaitable<void> turn_of_owner(attempt& a)
    {
        zklock::owned_shared_mutex lock(client_, a.path, shared_options_of(a));
        const zklock::lock_owner me;
        auto token = cancellable(a);
        result<zklock::guard> held = error_code(asio::error::operation_aborted);
        if (a.recipe == "write")
            held = co_await lock.owned_by(me).acquire(wait_of(a), token);
        else
            held = co_await lock.shared(me).acquire(wait_of(a), token);
        const auto read_on = [&](zklock::guard wrote) -> awaitable<zklock::guard> {
            const zklock::guard reads = must("reading on", co_await lock.shared(me).acquire());
            must("downgrade", co_await std::move(wrote).release());
            co_return must("reading again", co_await lock.shared(me).acquire());
        };
        co_await use(a, held, a.recipe == "write" ? "exclusive" : "shared", read_on);
    }

    awaitable<void> turn_of_semaphore(attempt& a)
    {
        zklock::semaphore_options options;
        options.names = names_of(a);
        options.permits = static_cast<unsigned>(a.number("permits", 1));
        options.check_permits = a.options.contains("check");
        if (a.options.contains("count"))
            options.count_path = a.options.at("count");
        zklock::semaphore gate(client_, a.path, options);
        auto token = cancellable(a);
        const auto count = a.number("take", 1);
        result<zklock::permits> held = co_await gate.permits_of(count).acquire(wait_of(a), token);
        const std::string what = std::to_string(count);
        co_await use(a, held, what);
    }

    /// What was acquired, if it was, is held until it is ordered to be let go, or its time is over. Whoever is ordered
    /// to read on goes on with what `read_on` gives for it.
    template <class Held, class ReadOn = std::nullptr_t>
    awaitable<void> use(attempt& a, result<Held>& acquired, std::string_view what, const ReadOn& read_on = nullptr)
    {
        if (acquired.has_error()) {
            note_refusal(a, acquired.error());
            co_return;
        }
        Held held = std::move(acquired).value();
        journal_.note(a.name, "granted " + std::string(what) + " " + held.node());
        if (a.options.contains("revocable"))
            held.wait_revoked([this, name = a.name](error_code ec) {
                if (!ec)
                    journal_.note(name, "revoked");
            });
        const auto lost = std::make_shared<bool>(false);
        held.wait_lost([this, lost, name = a.name](error_code ec) {
            *lost = !ec;
            if (*lost)
                journal_.note(name, "leaving lost");
        });
        std::string order = co_await hold(a);
        if constexpr (!std::is_null_pointer_v<ReadOn>)
            for (; order == "downgrade"; order = co_await hold(a)) {
                journal_.note(a.name, "downgrading");
                held = co_await read_on(std::move(held));
                journal_.note(a.name, "downgraded " + held.node());
            }
        if (!*lost)
            journal_.note(a.name, "leaving");
        const result<void> released = co_await std::move(held).release();
        if (released.has_error() && released.error() != zklock::errc::lost)
            throw std::runtime_error("release: " + released.error().message());
        journal_.note(a.name, "released");
    }

    awaitable<void> turn_of_election(attempt& a)
    {
        zklock::election_options options;
        static_cast<zklock::mutex_options&>(options) = options_of(a);
        options.identifier = a.name;
        zklock::election chair(client_, a.path, options);
        auto leads = [&](zklock::leadership& term) -> awaitable<void> {
            journal_.note(a.name, "granted exclusive " + term.node());
            co_await hold(a);
            journal_.note(a.name, "leaving");
        };
        const result<void> led = co_await chair.lead(leads);
        if (led.has_error())
            note_refusal(a, led.error());
        else
            journal_.note(a.name, "released");
    }

    /// Until its time is over, or it is ordered to do something else.
    awaitable<std::string> hold(attempt& a)
    {
        if (const auto time = a.duration("hold")) {
            asio::steady_timer over(io_, *time);
            static_cast<void>(co_await over.async_wait(zklock::as_result(asio::use_awaitable)));
            co_return "release";
        }
        while (a.orders.empty()) {
            a.ordered.expires_at(asio::steady_timer::time_point::max());
            static_cast<void>(co_await a.ordered.async_wait(zklock::as_result(asio::use_awaitable)));
        }
        std::string order = std::move(a.orders.front());
        a.orders.pop_front();
        co_return order;
    }

    asio::io_context& io_;
    notes journal_;
    zklock::client client_;
    std::map<std::string, std::shared_ptr<attempt>> attempts_;
};

} // namespace

int main(int argc, char** argv)
{
    const bool direct = argc == 6 && std::string(argv[5]) == "direct";
    if (argc != 5 && !direct) {
        std::cerr << "usage: zklock_peer NAME SERVERS SESSION_TIMEOUT_MS JOURNAL [direct]\n";
        return 2;
    }
    try {
        asio::io_context io;
        worker w(io, argv[1], argv[2], milliseconds(std::stol(argv[3])), argv[4], direct);
        int status = 0;
        asio::co_spawn(io, w.serve(), [&](std::exception_ptr e) {
            if (!e)
                return;
            try {
                std::rethrow_exception(e);
            } catch (const std::exception& thrown) {
                std::cerr << thrown.what() << '\n';
            }
            status = 1;
            io.stop();
        });
        io.run();
        return status;
    } catch (const std::exception& e) {
        std::cerr << e.what() << '\n';
        return 1;
    }
}

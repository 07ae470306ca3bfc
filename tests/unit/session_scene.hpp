#pragma once
#include "script.hpp"

#include "recipes/locks/locks.hpp"
#include "recipes/requests/node_operations.hpp"
#include "recipes/requests/queue_requests.hpp"
#include "support/options_for.hpp"

namespace zklock::unit {

using namespace std::chrono_literals;
using boost::system::error_code;
using queue::contender_kind;
using recipes::acquire_mode;
using store::outcome;
using test::with;

/// A log whose lines are kept, from that level on.
inline store::leveled_log keep_log(std::vector<std::string>& lines, log_level from = log_level::warning)
{
    return {from, [&lines](log_level, std::string_view line) { lines.emplace_back(line); }};
}

/// What the node's name is before the servers add its number.
inline std::string prefix(int uuid, const char* mark = "lock-");

/// What a test knows of an acquire.
template <class Acquisition> struct attempt_of {
    std::shared_ptr<Acquisition> handle;
    std::optional<error_code> ended;
    recipes::grant given;
    int losses = 0;
    std::optional<error_code> released;
};

/// Has that attempt of a test told what its acquire comes to, once. It lives until then, and while it holds.
template <class Attempt> recipes::acquire_call call_of(const std::shared_ptr<Attempt>& a)
{
    recipes::acquire_call call;
    call.done = [a](error_code ec, const recipes::grant& g) {
        CHECK_FALSE(a->ended);
        a->ended = ec;
        a->given = g;
        if (!ec)
            a->handle->on_lost([a] { ++a->losses; });
    };
    return call;
}

/// A session over a store that the test answers for.
struct scene {
    manual_scheduler clock;
    fake_store servers{clock};
    client_options options;
    int uuids = 0;
    counters::connection_counters counted;
    store::peers* others = nullptr; ///< past the servers; set before it starts
    std::optional<recipes::session> session;
    std::optional<recipes::locks> locks;
    /// The transaction that makes a node with number 0; the node with the next number is made by the next transaction.
    std::int64_t first_czxid = 100;

    using attempt = attempt_of<recipes::acquisition>;

    scene() { options.identifier = "me"; }

    void start()
    {
        session.emplace(
            servers, clock, counted, options,
            [this] {
                char text[40];
                std::snprintf(text, sizeof text, "00000000-0000-4000-8000-%012d", ++uuids);
                return std::string(text);
            },
            others);
        locks.emplace(*session);
    }
    void destroy()
    {
        locks.reset();
        session.reset();
    }
    void connect(std::int64_t id = 5, bool renewed = true, std::chrono::milliseconds timeout = 10s)
    {
        servers.observer->on_connected({id, timeout, renewed, clock.now()});
        const auto sent_before = static_cast<std::ptrdiff_t>(servers.requests.size()); // a sync of another kind, too
        if (!renewed)
            show_writes_kept(*this);
        clock.pass(0ms);
        const auto is_heartbeat = [](const fake_store::request& r) { return r.what == "sync /"; };
        const auto beat = std::find_if(servers.requests.begin() + sent_before, servers.requests.end(), is_heartbeat);
        if (beat == servers.requests.end())
            return;
        const auto answer = beat->answer;
        servers.requests.erase(beat);
        answer(outcome::ok);
        clock.run();
    }
    /// Answers the oldest request, whatever it is.
    void answer_oldest(outcome o)
    {
        servers.take().answer(o);
        clock.run();
    }
    std::shared_ptr<attempt> acquire(const std::string& path, mutex_options o = {},
                                     acquire_mode mode = acquire_mode::wait,
                                     contender_kind kind = contender_kind::mutex)
    {
        return acquire_by([&](recipes::acquire_call call) {
            call.mode = mode;
            return locks->acquire({std::move(call), {path, o, kind}});
        });
    }
    /// Whatever is acquired, and by whichever recipe: `begin` has that call made.
    template <class Attempt = attempt, class Begin> std::shared_ptr<Attempt> acquire_by(Begin begin)
    {
        const auto a = std::make_shared<Attempt>();
        a->handle = begin(call_of(a));
        CHECK_FALSE(a->ended);
        clock.run();
        return a;
    }
    /// Likewise, and its node is made, with that number. Who is before it is for the test to show.
    std::shared_ptr<attempt> enqueue(const std::string& path, int n, mutex_options o = {},
                                     contender_kind kind = contender_kind::mutex)
    {
        const char* const mark = kind == contender_kind::mutex    ? "lock-"
                                 : kind == contender_kind::reader ? "__READ__"
                                                                  : "__WRIT__";
        const auto a = acquire(path, std::move(o), acquire_mode::wait, kind);
        asked(*this).to("create " + path + "/" + prefix(uuids, mark)).number(first_czxid + n, n);
        return a;
    }
    /// What a composed recipe is given of a mutex.
    recipes::acquire_function lock_of(const std::string& path)
    {
        return [this, path](recipes::acquire_call call) {
            return locks->acquire(recipes::acquire_request{std::move(call), {path, {}}});
        };
    }
    template <class Attempt> void release(Attempt& a)
    {
        a.handle->release([&a](error_code ec) { a.released = ec; });
        clock.run();
    }
    /// Likewise, and its node is deleted.
    asked give_back(attempt& a)
    {
        release(a);
        return asked(*this).only("remove " + a.given.node).ends(outcome::ok);
    }
    /// Whether what is under way was done is never known.
    void lose_answers()
    {
        while (!servers.requests.empty()) {
            servers.take().answer(outcome::unknown);
            clock.run();
        }
    }
    template <class Attempt> void withdraw(const Attempt& a)
    {
        CHECK(a.handle->withdraw());
        clock.run();
    }
    void event(store::event_kind kind, const std::string& path)
    {
        servers.observer->on_node_event(kind, path);
        clock.run();
    }
    /// The connection ends. What is under way has not been answered yet.
    void disconnect()
    {
        servers.observer->on_disconnected();
        clock.run();
    }
    /// The connection ends, and with it all that is under way.
    void lose_connection()
    {
        lose_answers();
        disconnect();
    }
    /// The session goes on over another connection. What the servers have of its writes is for the test to show.
    void reappear(bool may_lag = false)
    {
        servers.observer->on_connected({5, 10s, false, clock.now(), may_lag});
        clock.run();
    }
    /// The connection ends, and the session goes on.
    void reconnect()
    {
        lose_connection();
        connect(5, false);
    }
    void expire()
    {
        servers.observer->on_expired();
        clock.run();
    }
    /// The connection ends, and the session, too.
    void end_session()
    {
        servers.observer->on_disconnected();
        expire();
    }
    void close()
    {
        session->close([] {});
        clock.run();
    }
    /// Lets so much time pass that paths which nobody uses are retired. Heartbeats are answered.
    void come_to_rest()
    {
        for (lease_clock::duration rest = options.session_timeout; rest > 0s; rest -= 500ms) {
            clock.pass(500ms);
            answer_syncs();
        }
    }
    void answer_syncs()
    {
        const auto is_sync = [](const fake_store::request& r) { return r.what == "sync /"; };
        auto sync = servers.requests.begin();
        while ((sync = std::find_if(servers.requests.begin(), servers.requests.end(), is_sync)) !=
               servers.requests.end()) {
            const auto answered = sync->answer;
            servers.requests.erase(sync);
            answered(outcome::ok);
            clock.run();
        }
    }
    /// The Stat of a node that was made by that transaction, and used by nobody.
    static store::node_stat fresh(std::int64_t czxid)
    {
        store::node_stat stat;
        stat.czxid = stat.mzxid = stat.pzxid = czxid;
        return stat;
    }
    static std::string node(int uuid, int n, const char* mark = "lock-")
    {
        char text[80];
        std::snprintf(text, sizeof text, "_c_00000000-0000-4000-8000-%012d-%s%010d", uuid, mark, n);
        return text;
    }
    std::shared_ptr<attempt> hold(const std::string& path, int n, mutex_options o = {})
    {
        const auto a = enqueue(path, n, std::move(o));
        asked(*this).to("watch " + path).alone(n + 1, first_czxid + n);
        REQUIRE(a->ended == error_code());
        return a;
    }
    void hold_and_give_back(const std::string& path, int n) { give_back(*hold(path, n)); }
    /// Asked whether it is there, the servers show that the node is not, and by which transaction its parent was
    /// changed last.
    void show_gone(const std::string& path, std::int64_t changed)
    {
        asked(*this).only("exists " + path).ends(outcome::no_node);
        asked(*this).only("exists " + path.substr(0, path.rfind('/'))).stat(fresh(changed));
    }
    /// A writer's grant, of number 0 and alone.
    std::shared_ptr<attempt> hold_as_writer(const std::string& path)
    {
        const auto a = enqueue(path, 0, {}, contender_kind::writer);
        asked(*this).to("watch " + path).alone(1, first_czxid);
        REQUIRE(a->ended == error_code());
        return a;
    }
    /// What the first writer's node is called after its downgrade.
    static std::string downgraded(const std::string& path) { return path + "/" + node(1, 0, "__READ__"); }
    /// The request by which the first writer is downgraded.
    static std::string downgrade(const std::string& path)
    {
        return "batch create " + downgraded(path) + ", remove " + path + "/" + node(1, 0, "__WRIT__") + " at version 0";
    }
};

inline std::string prefix(int uuid, const char* mark)
{
    const std::string whole = scene::node(uuid, 0, mark);
    return whole.substr(0, whole.size() - 10);
}

/// A session that has been connected.
struct connected_scene : scene {
    explicit connected_scene(client_options o = {})
    {
        o.identifier = options.identifier;
        options = std::move(o);
        start();
        connect();
    }
};
/// A session whose errors are kept as the log has them.
struct logged_scene : scene {
    std::vector<std::string> errors;
    logged_scene()
    {
        options.log = keep_log(errors, log_level::error);
        start();
    }
};
/// A scene that starts by itself, and has been connected.
template <class Scene> struct connected : Scene {
    template <class... Args> explicit connected(Args&&... args) : Scene(std::forward<Args>(args)...)
    {
        this->connect();
    }
};

} // namespace zklock::unit

#pragma once
// What the tests of the bridge have in common: a store on a thread's io_context, with everything it said in order.
#include "bridge/connection/connection.hpp"
#include "runtime/asio_scheduler.hpp"
#include "support/expect_clean.hpp"
#include "support/failure_report.hpp"
#include "support/one_server.hpp"
#include "support/options_for.hpp"

#include <boost/asio/executor_work_guard.hpp>

#include <deque>
#include <stdexcept>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too
namespace asio = boost::asio;
using store::event_kind;
using store::node_kind;
using store::outcome;

struct created {
    outcome result = outcome::unknown;
    std::string path;
    store::node_stat stat;
    lease_clock::time_point sent;
};
struct read {
    outcome result = outcome::unknown;
    std::string data;
    store::node_stat stat;
};
struct listed {
    outcome result = outcome::unknown;
    std::vector<std::string> names;
    store::node_stat stat;
};

struct described {
    outcome result = outcome::unknown;
    store::node_stat stat;
};
struct accessed {
    outcome result = outcome::unknown;
    std::string list; ///< as text
    store::node_stat stat;
};
struct batched {
    outcome result = outcome::unknown;
    std::vector<std::string> created;
    std::vector<store::node_stat> set;
    std::size_t failed = 0;

    explicit batched(const store::batch_reply& r = {})
        : result(r.result), created(r.created.begin(), r.created.end()), set(r.set.begin(), r.set.end()),
          failed(r.failed)
    {
    }
};

/// The writes of a batch. They do not own what they are given.
inline store::batch_write creates(std::string_view path, node_kind kind, std::string_view data = {},
                                  const access_list* access = nullptr)
{
    return {store::batch_write::kind::create, path, data, kind, store::any_version, access};
}
inline store::batch_write removes(std::string_view path, std::int32_t version = store::any_version)
{
    return {store::batch_write::kind::remove, path, {}, {}, version};
}
inline store::batch_write sets(std::string_view path, std::string_view data, std::int32_t version = store::any_version)
{
    return {store::batch_write::kind::set, path, data, {}, version};
}
inline store::batch_write checks(std::string_view path, std::int32_t version = store::any_version)
{
    return {store::batch_write::kind::check, path, {}, {}, version};
}

/// A store and who observes it. Its members run the io_context on the calling thread until they have their answer, and
/// throw when the limit passes first.
class bridge_client : public store::observer {
public:
    explicit bridge_client(client_options options, bool attach = true,
                           const std::shared_ptr<runtime::turns>& turns = std::make_shared<runtime::turns>())
        : store_(bridge::make_connection(strand_, with_log(std::move(options)), requests_, turns))
    {
        if (attach)
            store_->attach(*this);
    }

    asio::io_context& context() { return context_; }
    const runtime::strand& strand() const { return strand_; }
    bridge::connection& store() { return *store_; }
    void destroy_store() { store_.reset(); }

    void run_until(const std::function<bool()>& holds, milliseconds limit = default_limit)
    {
        auto end = steady_clock::now() + limit;
        while (!holds()) {
            context_.restart();
            if (context_.run_one_until(end) == 0 && steady_clock::now() >= end)
                throw std::runtime_error("the event did not come: " + story() + "log: " + last_log());
        }
    }
    /// Runs what is ready now.
    void run_ready()
    {
        context_.restart();
        context_.poll();
    }

    void wait_connected(std::size_t times = 1) // since the start
    {
        run_until([&] { return connections >= times; });
    }
    void wait_disconnected(std::size_t times = 1)
    {
        run_until([&] { return disconnections >= times; });
    }

    created create(const std::string& path, node_kind kind, const std::string& data = {},
                   const access_list* access = nullptr)
    {
        return wait<created>([&](auto done) {
            store_->create(path, data, kind, access, [done](const store::create_reply& r) {
                done(created{r.result, std::string{r.path}, r.stat, r.sent});
            });
        });
    }
    outcome remove(const std::string& path, std::int32_t version = store::any_version)
    {
        return wait<outcome>(
            [&](auto done) { store_->remove(path, version, [done](const store::reply& r) { done(r.result); }); });
    }
    described set(const std::string& path, const std::string& data, std::int32_t version = store::any_version)
    {
        return wait<described>([&](auto done) {
            store_->set(path, data, version, [done](const store::stat_reply& r) { done(described{r.result, r.stat}); });
        });
    }
    described exists(const std::string& path, bool watch = false)
    {
        return wait<described>([&](auto done) {
            store_->exists(path, watch, [done](const store::stat_reply& r) { done(described{r.result, r.stat}); });
        });
    }
    batched batch(const std::vector<store::batch_write>& writes)
    {
        return wait<batched>(
            [&](auto done) { store_->batch(writes, [done](const store::batch_reply& r) { done(batched{r}); }); });
    }
    read get(const std::string& path, bool watch = false)
    {
        return wait<read>([&](auto done) {
            store_->get(path, watch, [done](const store::get_reply& r) {
                done(read{r.result, std::string{r.data}, r.stat});
            });
        });
    }
    listed children(const std::string& path, bool watch = false)
    {
        return wait<listed>([&](auto done) {
            store_->children(path, watch, [done](const store::children_reply& r) {
                done(listed{r.result, *r.names, r.stat});
            });
        });
    }
    accessed get_acl(const std::string& path)
    {
        return wait<accessed>([&](auto done) {
            store_->get_acl(path, [done](const store::access_reply& r) {
                CHECK((r.access != nullptr) == (r.result == outcome::ok));
                done(accessed{r.result, r.access ? to_string(*r.access) : std::string(), r.stat});
            });
        });
    }
    outcome set_acl(const std::string& path, const access_list& access, std::int32_t acl_version = store::any_version)
    {
        return wait<outcome>([&](auto done) {
            store_->set_acl(path, access, acl_version, [done](const store::reply& r) { done(r.result); });
        });
    }
    outcome unwatch(const std::string& path)
    {
        return wait<outcome>(
            [&](auto done) { store_->unwatch(path, [done](const store::reply& r) { done(r.result); }); });
    }
    outcome sync(const std::string& path)
    {
        return wait<outcome>([&](auto done) { store_->sync(path, [done](const store::reply& r) { done(r.result); }); });
    }
    void close()
    {
        bool closed = false;
        store_->close([&] { closed = true; });
        CHECK_FALSE(closed);
        run_until([&] { return closed; });
    }

    // What the store tells its observer.
    void on_connected(const store::connect_reply& answer) override
    {
        ++connections;
        session = answer.session_id;
        session_timeout = answer.session_timeout;
        was_renewed = answer.renewed;
        open = true;
        tell(answer.renewed ? "connected, new" : "connected");
    }
    void on_disconnected() override
    {
        ++disconnections;
        open = false;
        tell("disconnected");
    }
    void on_expired() override
    {
        ++expiries;
        tell("expired");
    }
    void on_authentication_failed() override
    {
        ++refusals;
        tell("authentication failed");
    }
    void on_node_event(event_kind kind, std::string_view path) override
    {
        events.emplace_back(kind, path);
        tell("event " + std::to_string(static_cast<int>(kind)) + ' ' + std::string{path});
    }

    /// Puts a line into the story.
    void tell(std::string line)
    {
        lines.push_back(line);
        if (on_line)
            on_line(line);
    }
    /// How many lines of the log have that in them.
    [[nodiscard]] std::ptrdiff_t said(std::string_view text) const
    {
        return std::ranges::count_if(log, [&](const std::string& line) { return line.find(text) != line.npos; });
    }
    [[nodiscard]] std::string last_log() const
    {
        std::string last;
        for (std::size_t i = log.size() > 20 ? log.size() - 20 : 0; i < log.size(); ++i)
            last += "\n  " + log[i];
        return last;
    }
    [[nodiscard]] std::string story() const
    {
        std::string all;
        for (const auto& line : lines)
            all += line + "; ";
        return all;
    }

    std::size_t connections = 0, disconnections = 0, expiries = 0, refusals = 0;
    std::int64_t session = 0;
    std::chrono::milliseconds session_timeout{};
    bool was_renewed = false, open = false;
    std::vector<std::pair<event_kind, std::string>> events;
    std::vector<std::string> lines;
    std::vector<std::string> log;
    std::function<void(const std::string&)> on_line;

private:
    template <class T, class Start> T wait(Start start)
    {
        auto answer = std::make_shared<std::optional<T>>();
        int given = 0;
        start([answer, &given](T t) {
            *answer = std::move(t);
            ++given;
        });
        CHECK_FALSE(answer->has_value()); // never inside the call
        run_until([&] { return answer->has_value(); });
        CHECK(given == 1);
        return std::move(**answer);
    }

    client_options with_log(client_options o)
    {
        if (!o.log)
            o.log = [this](log_level, std::string_view text) { log.emplace_back(text); };
        return o;
    }

    asio::io_context context_{1};
    runtime::strand strand_ = runtime::make_strand(context_.get_executor());
    zklock::counters::counter requests_;
    std::shared_ptr<bridge::connection> store_;
};

/// One that is connected from the beginning.
struct connected_bridge_client : bridge_client {
    explicit connected_bridge_client(client_options options) : bridge_client(std::move(options)) { wait_connected(); }
};

/// Closes it. Then nothing may be left on the program's server.
inline void close_clean(bridge_client& c)
{
    c.close();
    expect_clean(server());
}

} // namespace zklock::test

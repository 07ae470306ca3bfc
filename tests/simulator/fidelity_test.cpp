// Whether the simulated ZooKeeper is honest: random operations of two clients are done on it and on a real server, and
// every answer and every event has to be the same.
#include "ensemble.hpp"
#include "integration/bridge_client.hpp"
#include "process.hpp"
#include "simulated_store.hpp"
#include "support/zookeeper_server.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

using namespace std::chrono_literals;
using namespace zklock;
using namespace zklock::simulator;
using store::node_kind;

namespace {

/// One store, its answers as lines that do not depend on which ZooKeeper gave them.
class side {
public:
    virtual ~side() = default;
    virtual store::node_store& store_of(unsigned client) = 0;
    virtual std::int64_t session_of(unsigned client) = 0;
    virtual std::vector<std::string> take_events(unsigned client) = 0;
    virtual void run_until(const std::function<bool()>& holds) = 0;
    virtual void renew(unsigned client) = 0; ///< closes its session, and opens another

    std::string create(unsigned client, const std::string& path, node_kind kind, const access_list* access = nullptr)
    {
        return answer([&](auto done) {
            store_of(client).create(path, "data", kind, access, [this, done](const store::create_reply& r) {
                done(result(r) + ' ' + std::string(r.path) + ' ' +
                     (r.result == store::outcome::ok ? show(r.stat) : ""));
            });
        });
    }
    std::string remove(unsigned client, const std::string& path, std::int32_t version)
    {
        return answer([&](auto done) {
            store_of(client).remove(path, version, [done](const store::reply& r) { done(result(r)); });
        });
    }
    std::string set(unsigned client, const std::string& path, const std::string& data, std::int32_t version)
    {
        return answer([&](auto done) {
            store_of(client).set(path, data, version, [this, done](const store::stat_reply& r) {
                done(result(r) + (r.result == store::outcome::ok ? ' ' + show(r.stat) : ""));
            });
        });
    }
    std::string exists(unsigned client, const std::string& path, bool watch)
    {
        return answer([&](auto done) {
            store_of(client).exists(path, watch, [this, done](const store::stat_reply& r) {
                done(result(r) + (r.result == store::outcome::ok ? ' ' + show(r.stat) : ""));
            });
        });
    }
    std::string batch(unsigned client, const std::vector<store::batch_write>& writes)
    {
        return answer([&](auto done) {
            store_of(client).batch(writes, [this, done](const store::batch_reply& r) {
                std::string line = result(r);
                if (r.result != store::outcome::ok)
                    line += " failed at " + std::to_string(r.failed);
                for (const auto& path : r.created)
                    line += " made " + std::string(path);
                for (const auto& stat : r.set)
                    line += ' ' + show(stat);
                done(line);
            });
        });
    }
    std::string get(unsigned client, const std::string& path, bool watch)
    {
        return answer([&](auto done) {
            store_of(client).get(path, watch, [this, done](const store::get_reply& r) {
                done(result(r) + ' ' + std::string(r.data) + ' ' +
                     (r.result == store::outcome::ok ? show(r.stat) : ""));
            });
        });
    }
    std::string children(unsigned client, const std::string& path, bool watch)
    {
        return answer([&](auto done) {
            store_of(client).children(path, watch, [this, done](const store::children_reply& r) {
                auto names = r.names ? *r.names : std::vector<std::string>{};
                std::sort(names.begin(), names.end());
                std::string line = result(r);
                for (const auto& name : names)
                    line += ' ' + name;
                done(line + (r.result == store::outcome::ok ? ' ' + show(r.stat) : ""));
            });
        });
    }
    std::string get_acl(unsigned client, const std::string& path)
    {
        return answer([&](auto done) {
            store_of(client).get_acl(path, [this, done](const store::access_reply& r) {
                done(result(r) + (r.access ? ' ' + to_string(*r.access) + ' ' + show(r.stat) : ""));
            });
        });
    }
    std::string set_acl(unsigned client, const std::string& path, const access_list& access, std::int32_t version)
    {
        return answer([&](auto done) {
            store_of(client).set_acl(path, access, version, [done](const store::reply& r) { done(result(r)); });
        });
    }
    std::string unwatch(unsigned client, const std::string& path)
    {
        return answer(
            [&](auto done) { store_of(client).unwatch(path, [done](const store::reply& r) { done(result(r)); }); });
    }
    std::string sync(unsigned client)
    {
        return answer(
            [&](auto done) { store_of(client).sync("/", [done](const store::reply& r) { done(result(r)); }); });
    }

private:
    static std::string result(const store::reply& r) { return "result " + std::to_string(static_cast<int>(r.result)); }

    std::string show(const store::node_stat& s)
    {
        const auto nth = made_.emplace(s.czxid, made_.size()).first->second;
        const auto set = made_.emplace(s.mzxid, made_.size()).first->second;
        std::string owner = std::to_string(s.ephemeral_owner);
        for (unsigned c = 0; c < 2; ++c) {
            if (s.ephemeral_owner == session_of(c))
                owner = "client" + std::to_string(c);
        }
        return "made " + std::to_string(nth) + " set " + std::to_string(set) + " owner " + owner + " version " +
               std::to_string(s.version) + " cversion " + std::to_string(s.cversion) + " children " +
               std::to_string(s.num_children) + " length " + std::to_string(s.data_length) + " access " +
               std::to_string(s.acl_version);
    }

    std::string answer(const std::function<void(std::function<void(std::string)>)>& start)
    {
        auto line = std::make_shared<std::optional<std::string>>();
        start([line](std::string text) { *line = std::move(text); });
        run_until([&] { return line->has_value(); });
        return **line;
    }

    std::map<std::int64_t, std::size_t> made_; ///< zxids, in the order in which they were seen
};

class real_side final : public side {
public:
    explicit real_side(const std::string& servers) : options_(test::options_for(servers))
    {
        for (unsigned c = 0; c < 2; ++c)
            open(c);
    }
    store::node_store& store_of(unsigned c) override { return clients_[c]->store(); }
    std::int64_t session_of(unsigned c) override { return clients_[c]->session; }
    std::vector<std::string> take_events(unsigned c) override
    {
        std::vector<std::string> lines;
        for (const auto& [kind, path] : std::exchange(clients_[c]->events, {})) {
            lines.push_back(std::to_string(static_cast<int>(kind)) + ' ' + path);
        }
        return lines;
    }
    void run_until(const std::function<bool()>& holds) override
    {
        const auto end = std::chrono::steady_clock::now() + 30s;
        while (!holds()) {
            REQUIRE(std::chrono::steady_clock::now() < end);
            for (auto& c : clients_) {
                c->context().restart();
                c->context().run_one_for(1ms);
            }
        }
    }
    void renew(unsigned c) override
    {
        clients_[c]->close();
        open(c);
    }

private:
    void open(unsigned c)
    {
        clients_[c] = std::make_unique<test::bridge_client>(options_);
        clients_[c]->wait_connected();
    }
    client_options options_;
    std::unique_ptr<test::bridge_client> clients_[2];
};

class simulated_side final : public side {
public:
    simulated_side() : world_(1, one_server(), false), ensemble_(world_)
    {
        for (unsigned c = 0; c < 2; ++c)
            open(c);
    }
    store::node_store& store_of(unsigned c) override { return clients_[c]->store; }
    std::int64_t session_of(unsigned c) override { return clients_[c]->session; }
    std::vector<std::string> take_events(unsigned c) override { return std::exchange(clients_[c]->events, {}); }
    void run_until(const std::function<bool()>& holds) override
    {
        const auto limit = world_.time.now() + 30s;
        while (!holds())
            REQUIRE(world_.time.step(limit));
        REQUIRE(world_.violation == "");
    }
    void renew(unsigned c) override
    {
        bool closed = false;
        clients_[c]->store.close([&] { closed = true; });
        run_until([&] { return closed; });
        open(c);
    }

private:
    struct client final : store::observer {
        client(world& w, ensemble& e, unsigned number) : where(w, number, 0), store(w, e, where, number)
        {
            store.attach(*this);
        }
        void on_connected(const store::connect_reply& r) override { session = r.session_id; }
        void on_disconnected() override {}
        void on_expired() override {}
        void on_authentication_failed() override {}
        void on_node_event(store::event_kind kind, std::string_view path) override
        {
            events.push_back(std::to_string(static_cast<int>(kind)) + ' ' + std::string(path));
        }
        process where;
        simulated_store store;
        std::int64_t session = 0;
        std::vector<std::string> events;
    };
    static settings one_server() { return {}; }
    void open(unsigned c)
    {
        if (clients_[c])
            past_.push_back(std::move(clients_[c]));
        clients_[c] = std::make_unique<client>(world_, ensemble_, c);
        run_until([&] { return clients_[c]->session != 0; });
    }
    world world_;
    ensemble ensemble_;
    std::unique_ptr<client> clients_[2];
    std::vector<std::unique_ptr<client>> past_; ///< whatever is under way may still name them
};

class replay {
public:
    replay(side& real, side& simulated, std::uint64_t seed)
        : real_(real), simulated_(simulated), choose_(seed), root_("/r" + std::to_string(seed))
    {
    }

    void run(int steps)
    {
        same("create the root", [&](side& s) { return s.create(0, root_, node_kind::persistent); });
        for (int i = 0; i < steps; ++i)
            step();
    }

    std::size_t batches_done = 0, batches_undone = 0;

private:
    std::uint64_t draw(std::uint64_t limit) { return choose_.below(limit, choices::stream::plan); }

    std::string some_path()
    {
        static constexpr const char* names[] = {"/a",   "/b",     "/a/x",          "/a/y",
                                                "/b/x", "/a/x/z", "/n-0000000001", "/a/n-0000000002"};
        const auto n = draw(10);
        if (n == 0)
            return root_;
        if (n == 1 && !made_.empty())
            return made_[draw(made_.size())];
        return root_ + names[draw(8)];
    }

    void step()
    {
        const auto client = static_cast<unsigned>(draw(2));
        const auto path = some_path();
        const auto label = " client" + std::to_string(client) + ' ' + path;
        bool renewed = false;
        switch (draw(21)) {
        case 0:
        case 1:
        case 2: {
            static constexpr node_kind kinds[] = {node_kind::persistent, node_kind::ephemeral, node_kind::container};
            const auto kind = kinds[draw(3)];
            const auto access = draw(4) == 0 ? some_access() : std::nullopt;
            same("create " + std::to_string(static_cast<int>(kind)) + label,
                 [&](side& s) { return s.create(client, path, kind, access ? &*access : nullptr); });
            break;
        }
        case 3:
        case 4: {
            const auto kind = draw(2) ? node_kind::ephemeral_sequential : node_kind::persistent_sequential;
            const auto prefix = path + "/n-";
            const auto line = same("create " + std::to_string(static_cast<int>(kind)) + label + "/n-",
                                   [&](side& s) { return s.create(client, prefix, kind); });
            if (const auto at = line.find('/'); at != line.npos)
                made_.push_back(line.substr(at, line.find(' ', at) - at));
            break;
        }
        case 5:
        case 6: {
            const auto version = some_version();
            same("remove" + label, [&](side& s) { return s.remove(client, path, version); });
            break;
        }
        case 7: same("get" + label, [&](side& s) { return s.get(client, path, false); }); break;
        case 8: same("watch" + label, [&](side& s) { return s.get(client, path, true); }); break;
        case 9: {
            const bool watch = draw(3) != 0;
            same("children" + label, [&](side& s) { return s.children(client, path, watch); });
            break;
        }
        case 11:
        case 17: {
            const bool watch = draw(3) != 0;
            same("exists" + label, [&](side& s) { return s.exists(client, path, watch); });
            break;
        }
        case 18: same("get_acl" + label, [&](side& s) { return s.get_acl(client, path); }); break;
        case 19: {
            const auto version = some_version();
            const auto access = some_access();
            same("set_acl" + label, [&](side& s) { return s.set_acl(client, path, *access, version); });
            break;
        }
        case 12: {
            const auto version = some_version();
            same("set" + label, [&](side& s) { return s.set(client, path, "new", version); });
            break;
        }
        case 13:
        case 14:
        case 15:
        case 16: batch(client); break;
        case 10: same("unwatch" + label, [&](side& s) { return s.unwatch(client, path); }); break;
        default:
            if (draw(4) != 0)
                break;
            renewed = true;
            real_.renew(client);
            simulated_.renew(client);
            break;
        }
        for (unsigned c = 0; c < 2; ++c) { // whatever the servers had to tell has come when the sync is answered
            same("sync", [&](side& s) { return s.sync(c); });
            auto real = real_.take_events(c);
            auto simulated = simulated_.take_events(c);
            if (renewed) { // those of one session's end come in any order
                std::sort(real.begin(), real.end());
                std::sort(simulated.begin(), simulated.end());
            }
            CHECK_MESSAGE(real == simulated, "events of client ", c, " after", label, " with seed ", root_);
        }
    }

    /// Of one entry or two, or one that is refused. All may go on with the node somehow: read it and set its list.
    std::optional<access_list> some_access()
    {
        constexpr unsigned always = permission::read | permission::admin;
        const auto allowed = [&] {
            return draw(6) != 0 ? permission::all : static_cast<unsigned>(draw(permission::all + 1)) | always;
        };
        switch (draw(5)) {
        case 0: return acl::open;
        case 1: return access_list(std::vector<access_entry>());
        case 2: return access_list{{"world", draw(2) ? "anyone" : "nobody", allowed()}};
        case 3: return access_list{digest_entry("ann", "secret"), {"world", "anyone", allowed()}};
        default: return access_list{{"ip", "10.1.2.3"}, {"world", "anyone", allowed()}};
        }
    }

    std::int32_t some_version() { return draw(2) ? store::any_version : static_cast<std::int32_t>(draw(2)); }

    void batch(unsigned client)
    {
        using kind = store::batch_write::kind;
        std::vector<std::string> paths(1 + draw(6));
        std::vector<store::batch_write> writes;
        std::string what = "batch client" + std::to_string(client);
        for (auto& path : paths) {
            store::batch_write w;
            w.what = static_cast<kind>(draw(7) % 4);
            path = some_path();
            if (w.what == kind::create) {
                w.created = static_cast<node_kind>(draw(4));
                if (w.created == node_kind::persistent_sequential || w.created == node_kind::ephemeral_sequential)
                    path += "/n-";
            } else {
                w.version = some_version();
            }
            w.path = path;
            w.data = "written";
            what += ' ' + std::to_string(static_cast<int>(w.what)) + path;
            writes.push_back(w);
        }
        const auto line = same(what, [&](side& s) { return s.batch(client, writes); });
        ++(line.find("failed") == line.npos ? batches_done : batches_undone);
    }

    std::string same(const std::string& what, const std::function<std::string(side&)>& act)
    {
        const auto real = act(real_);
        const auto simulated = act(simulated_);
        CAPTURE(what);
        CAPTURE(root_);
        CHECK(real == simulated);
        return real;
    }

    side& real_;
    side& simulated_;
    choices choose_;
    std::string root_;
    std::vector<std::string> made_;
};

} // namespace

TEST_CASE("random operations have the same answers and events as on a real server")
{
    test::zookeeper_server server;
    const auto first = std::random_device{}();
    std::cout << "first seed: " << first << '\n';
    real_side real(server.address());
    simulated_side simulated;
    std::size_t batches_done = 0, batches_undone = 0;
    for (std::uint64_t seed = first; seed < first + 10; ++seed) {
        replay r(real, simulated, seed);
        r.run(240);
        batches_done += r.batches_done;
        batches_undone += r.batches_undone;
    }
    CHECK(batches_done > 10);
    CHECK(batches_undone > 10);
}

#pragma once
// The two that are compared, a real server and the simulated one, each with its clients and its administrator.
#include "ensemble.hpp"
#include "integration/bridge_client.hpp"
#include "process.hpp"
#include "simulated_store.hpp"
#include "support/proxy.hpp"
#include "support/zookeeper_server.hpp"

namespace zklock::conformance {

using namespace std::chrono_literals;
using simulator::transaction;

inline constexpr unsigned clients = 3;

/// Something a client was told, with what differs between any two ZooKeepers kept apart.
struct line {
    std::string text;
    std::int64_t czxid = 0;
    std::int64_t mzxid = 0;
    std::int64_t owner = 0;
};

/// One client of one of the two: writes down all it is told.
class recorder final : public store::observer {
public:
    void on_connected(const store::connect_reply& r) override
    {
        session = r.session_id;
        ++connections;
        tell(r.renewed ? "connected, a new session" : "connected");
    }
    void on_disconnected() override { tell("disconnected"); }
    void on_expired() override { tell("expired"); }
    void on_authentication_failed() override { tell("refused"); }
    void on_node_event(store::event_kind kind, std::string_view path) override
    {
        tell("event " + std::to_string(static_cast<int>(kind)) + ' ' + std::string(path));
    }

    void tell(std::string text, const store::node_stat& s = {})
    {
        lines.push_back({std::move(text), s.czxid, s.mzxid, s.ephemeral_owner});
    }
    /// An answer.
    void tell(std::string text, const store::reply& r, const store::node_stat& s = {})
    {
        ++answers;
        text += " result " + std::to_string(static_cast<int>(r.result));
        if (s.czxid != 0)
            text += " version " + std::to_string(s.version) + " cversion " + std::to_string(s.cversion) + " children " +
                    std::to_string(s.num_children) + " length " + std::to_string(s.data_length) + " access " +
                    std::to_string(s.acl_version);
        tell(std::move(text), s);
    }

    std::vector<line> lines;
    std::size_t answers = 0;
    std::size_t connections = 0;
    std::int64_t session = 0;
};

/// Its administrator's entry in the access lists.
inline access_entry administrator()
{
    return digest_entry("admin", "secret");
}

/// A ZooKeeper with its clients and its administrator.
class side {
public:
    virtual ~side() = default;
    virtual store::node_store& store_of(unsigned client) = 0;
    virtual recorder& told(unsigned client) = 0;
    virtual void run_until(const std::function<bool()>& holds) = 0;

    virtual void set_data(const std::string& path, const std::string& data) = 0;
    virtual void allow(const std::string& path, simulator::permissions) = 0;
    virtual void remove(const std::string& path) = 0;
    virtual void cut(unsigned client) = 0;
    virtual void expire(unsigned client) = 0;
    virtual void reopen(unsigned client) = 0; ///< a new store, after close

protected:
    /// Does what there is to do until that holds.
    static void run(boost::asio::io_context& context, const std::function<bool()>& holds, const std::string& whose)
    {
        const auto end = test::steady_clock::now() + test::default_limit;
        while (!holds()) {
            context.restart();
            if (context.run_one_until(end) == 0)
                throw std::runtime_error(whose + " does not answer");
        }
    }
};

inline unsigned bits_of(const simulator::permissions& p)
{
    const auto bit = [](bool allowed, unsigned which) { return allowed ? which : 0U; };
    return bit(p.read, permission::read) | bit(p.write, permission::write) | bit(p.create, permission::create) |
           bit(p.remove, permission::remove) | bit(p.admin, permission::admin);
}

class real_side final : public side {
public:
    real_side() : admin_{server_.port(), 60s}
    {
        admin_.authenticate("digest", "admin:secret"); // as administrator() has it
        for (unsigned c = 0; c < clients; ++c) {
            links_.push_back(std::make_unique<test::proxy>(server_.port()));
            recorders_.emplace_back();
            stores_.emplace_back();
        }
        for (unsigned c = 0; c < clients; ++c)
            reopen(c);
    }
    ~real_side() override
    {
        for (unsigned c = 0; c < clients; ++c) {
            bool closed = false;
            stores_[c]->close([&] { closed = true; });
            run_until([&] { return closed; });
        }
    }
    /// Which of the two ways in which servers answer `exists` for a node that may not be read.
    bool exists_needs_read()
    {
        admin_.create("/unreadable");
        allow("/unreadable", {true, true, false});
        std::optional<store::outcome> found;
        store_of(0).exists("/unreadable", false, [&](const store::stat_reply& r) { found = r.result; });
        run_until([&] { return found.has_value(); });
        REQUIRE((found == store::outcome::ok || found == store::outcome::no_auth));
        return found == store::outcome::no_auth;
    }
    store::node_store& store_of(unsigned c) override { return *stores_[c]; }
    recorder& told(unsigned c) override { return *recorders_[c]; }
    void run_until(const std::function<bool()>& holds) override { run(context_, holds, "the real server"); }
    void set_data(const std::string& path, const std::string& data) override
    {
        tolerant([&] { admin_.set(path, data); });
    }
    void allow(const std::string& path, simulator::permissions p) override
    {
        const test::access_rule others{.permissions = static_cast<std::int32_t>(bits_of(p))};
        const test::access_rule own{.scheme = "auth", .id = ""};
        tolerant([&] { admin_.set_access(path, {others, own}); });
    }
    void remove(const std::string& path) override
    {
        tolerant([&] { admin_.remove(path); });
    }
    void cut(unsigned c) override { links_[c]->cut(); }
    void expire(unsigned c) override { links_[c]->expire_session(told(c).session); }
    void reopen(unsigned c) override
    {
        auto options = test::options_for(links_[c]->address());
        options.session_timeout = 60s;
        options.connect_backoff = 5ms;
        options.connect_backoff_limit = 50ms;
        stores_[c] = bridge::make_connection(strand_, options, requests_);
        recorders_[c] = std::make_unique<recorder>();
        stores_[c]->attach(told(c));
        run_until([&] { return told(c).connections != 0; });
    }

private:
    /// What the administrator wants may not be possible: then it changes nothing, here as there.
    template <class F> static void tolerant(F f)
    {
        constexpr std::int32_t no_node = -101, not_empty = -111;
        try {
            f();
        } catch (const test::zookeeper_error& e) {
            REQUIRE((e.code() == no_node || e.code() == not_empty));
        }
    }

    test::zookeeper_server server_;
    test::admin_client admin_;
    boost::asio::io_context context_{1};
    zklock::counters::counter requests_;
    runtime::strand strand_ = runtime::make_strand(context_.get_executor());
    std::vector<std::unique_ptr<test::proxy>> links_;
    std::vector<std::unique_ptr<recorder>> recorders_;
    std::vector<std::shared_ptr<bridge::connection>> stores_;
};

class simulated_side final : public side {
public:
    simulated_side(std::uint64_t seed, bool exists_needs_read)
        : world_(seed, settings(exists_needs_read), false), ensemble_(world_)
    {
        world_.quiet = true; // no faults but those of the steps
        for (unsigned c = 0; c < clients; ++c) {
            current_.push_back(nullptr);
            reopen(c);
        }
    }
    store::node_store& store_of(unsigned c) override { return current_[c]->store; }
    recorder& told(unsigned c) override { return current_[c]->told; }
    void run_until(const std::function<bool()>& holds) override
    {
        const auto limit = world_.time.now() + 120s;
        while (!holds())
            if (!world_.time.step(limit))
                throw std::runtime_error("the simulated server does not answer");
        REQUIRE(world_.violation == "");
    }
    void set_data(const std::string& path, const std::string& data) override
    {
        ensemble_.administrate({.what = transaction::kind::set_data, .path = path, .data = data});
    }
    void allow(const std::string& path, simulator::permissions p) override
    {
        const access_list both{{"world", "anyone", bits_of(p)}, administrator()};
        ensemble_.administrate(
            {.what = transaction::kind::set_access, .path = path, .access = std::make_shared<const access_list>(both)});
    }
    void remove(const std::string& path) override
    {
        ensemble_.administrate({.what = transaction::kind::remove, .path = path});
    }
    void cut(unsigned c) override { current_[c]->store.cut(); }
    void expire(unsigned c) override { ensemble_.expire(told(c).session); }
    void reopen(unsigned c) override
    {
        all_.push_back(std::make_unique<client>(world_, ensemble_, c));
        current_[c] = all_.back().get();
        run_until([&] { return told(c).connections != 0; });
    }

private:
    struct client {
        client(simulator::world& w, simulator::ensemble& e, unsigned number)
            : where(w, number, 0), store(w, e, where, number)
        {
            store.attach(told);
        }
        recorder told;
        simulator::process where;
        simulator::simulated_store store;
    };
    static simulator::settings settings(bool exists_needs_read)
    {
        simulator::settings s;
        s.clients = clients;
        s.session_timeout = 60s;
        s.exists_needs_read = exists_needs_read;
        return s;
    }
    simulator::world world_;
    simulator::ensemble ensemble_;
    std::vector<std::unique_ptr<client>> all_; ///< whatever is under way may still name a closed one
    std::vector<client*> current_;
};

} // namespace zklock::conformance

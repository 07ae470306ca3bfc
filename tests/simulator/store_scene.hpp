#pragma once
// What the tests of the simulated ZooKeeper have in common: clients that write down what they are told.
#include "simulated_store.hpp"

#include <doctest/doctest.h>

namespace zklock::simulator {
inline namespace store_scene { // the simulator's stage has clients, too

using namespace zklock; // so that who uses this one has the library, too
using namespace std::chrono_literals;
using ::zklock::store::node_kind;
using ::zklock::store::outcome;
using kind = transaction::kind;

inline settings calm(unsigned servers)
{
    settings s;
    s.servers = servers;
    s.delay_spread = 0us;
    s.delay = 1ms;
    return s;
}

/// A client that writes down what it is told.
struct client : store::observer {
    client(world& w, ensemble& e, unsigned number) : where(w, number, 0), store(w, e, where, number)
    {
        store.attach(*this);
    }

    void on_connected(const store::connect_reply& r) override
    {
        session = r.session_id;
        connected = true;
        note(r.renewed ? "new session" : "same session");
    }
    void on_disconnected() override
    {
        connected = false;
        note("disconnected");
    }
    void on_expired() override { note("expired"); }
    void on_authentication_failed() override { note("refused"); }
    void on_node_event(store::event_kind kind, std::string_view path) override
    {
        note((kind == store::event_kind::deleted            ? "deleted "
              : kind == store::event_kind::created          ? "created "
              : kind == store::event_kind::children_changed ? "children changed "
                                                            : "changed ") +
             std::string(path));
    }

    void create(const std::string& path, node_kind kind, const access_list* access = nullptr)
    {
        store.create(path, "data", kind, access, [this](const store::create_reply& r) {
            note("create " + std::to_string(static_cast<int>(r.result)) + ' ' + std::string(r.path));
        });
    }
    void remove(const std::string& path)
    {
        store.remove(path, store::any_version,
                     [this](const store::reply& r) { note("remove " + std::to_string(static_cast<int>(r.result))); });
    }
    void get(const std::string& path, bool watch)
    {
        store.get(path, watch,
                  [this](const store::get_reply& r) { note("get " + std::to_string(static_cast<int>(r.result))); });
    }
    void exists(const std::string& path)
    {
        store.exists(path, false, [this](const store::stat_reply& r) {
            note("exists " + std::to_string(static_cast<int>(r.result)) +
                 (r.result == outcome::ok ? " version " + std::to_string(r.stat.version) : ""));
        });
    }
    void children(const std::string& path)
    {
        store.children(path, false, [this](const store::children_reply& r) {
            note("children " + (r.result == outcome::ok ? std::to_string(r.names->size()) : std::string("none")));
        });
    }
    void batch(const std::vector<store::batch_write>& writes)
    {
        store.batch(writes, [this](const store::batch_reply& r) {
            note("batch " + std::to_string(static_cast<int>(r.result)));
        });
    }
    void sync()
    {
        store.sync("/", [this](const store::reply& r) { note("sync " + std::to_string(static_cast<int>(r.result))); });
    }

    void note(std::string what) { notes.push_back(std::move(what)); }
    std::vector<std::string> taken() { return std::exchange(notes, {}); }

    process where;
    simulated_store store;
    std::int64_t session = 0;
    bool connected = false;
    std::vector<std::string> notes;
};

struct scene {
    explicit scene(settings s, std::uint64_t seed = 1) : w(seed, std::move(s), false), e(w)
    {
        w.quiet = true; // no faults but those of the test
        e.administrate({.what = kind::create, .path = "/locks"});
    }
    void pass(instant time)
    {
        const auto until = w.time.now() + time;
        while (w.time.step(until)) {
        }
        w.time.at(until, [] {});
        while (w.time.step(until)) {
        }
        CHECK(w.violation == "");
    }

    world w;
    ensemble e;
};

/// One that has its session.
struct connected_client final : client {
    explicit connected_client(scene& s, unsigned number = 0) : client(s.w, s.e, number) { s.pass(1s); }
};

using notes = std::vector<std::string>;
inline const std::string unknown = std::to_string(static_cast<int>(outcome::unknown));
inline const std::string no_auth = std::to_string(static_cast<int>(outcome::no_auth));
inline const std::string no_node = std::to_string(static_cast<int>(outcome::no_node));

} // namespace store_scene
} // namespace zklock::simulator

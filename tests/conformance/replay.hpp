#pragma once
// Random steps that are done on both sides, and the comparison of what their clients are told.
#include "conformance/sides.hpp"

#include <iostream>
#include <iterator>

namespace zklock::conformance {

using simulator::choices;
using store::node_kind;
using store::outcome;

/// Numbers of one ZooKeeper, paired with the other's.
class pairing {
public:
    void same(std::int64_t real, std::int64_t simulated)
    {
        CHECK(there_.emplace(real, simulated).first->second == simulated);
        CHECK(back_.emplace(simulated, real).first->second == real);
    }
    /// Whether both count upwards alike.
    [[nodiscard]] bool in_order() const
    {
        std::int64_t last = -1;
        return std::all_of(there_.begin(), there_.end(),
                           [&](const auto& pair) { return std::exchange(last, pair.second) < pair.second; });
    }
    [[nodiscard]] std::size_t size() const { return there_.size(); }

private:
    std::map<std::int64_t, std::int64_t> there_, back_;
};

class replay {
public:
    replay(side& real, side& simulated, pairing& zxids, pairing& owners, std::uint64_t seed)
        : sides_{&real, &simulated}, zxids_(zxids), owners_(owners), choose_(seed), root_("/r" + std::to_string(seed))
    {
        owners_.same(0, 0);
        owners_.same(simulator::znode_tree::container_owner, simulator::znode_tree::container_owner);
    }

    void run(int steps)
    {
        together(0, [&](side& s) { create(s, 0, root_, node_kind::persistent, "x"); });
        for (int i = 0; i < steps; ++i)
            step();
    }

    std::size_t batches_done = 0, batches_undone = 0;

private:
    struct write {
        store::batch_write::kind what{};
        std::string path;
        std::string data;
        node_kind created = node_kind::persistent;
        std::int32_t version = store::any_version;
        std::optional<access_list> access;
    };

    std::uint64_t draw(std::uint64_t limit) { return choose_.below(limit, choices::stream::plan); }

    std::string some_path()
    {
        static constexpr const char* names[] = {
            "", "/a", "/b", "/a", "/b", "/a/x", "/a/y", "/b/x", "/a/x/z", "/n-0000000000", "/a/n-0000000001"};
        return root_ + names[draw(std::size(names))];
    }

    void step()
    {
        const auto client = static_cast<unsigned>(draw(clients));
        const auto path = some_path();
        switch (draw(16)) {
        default: return pipeline(client);
        case 0: {
            const std::string data(draw(5), 'd');
            return administer("set data " + path, [&](side& s) { s.set_data(path, data); });
        }
        case 1: {
            const simulator::permissions p{draw(3) != 0, draw(3) != 0, draw(3) != 0, draw(6) != 0, draw(3) != 0};
            const std::string what = "allow " + std::to_string(bits_of(p)) + ' ' + path;
            return administer(what, [&](side& s) { s.allow(path, p); });
        }
        case 2: return administer("allow all " + path, [&](side& s) { s.allow(path, {}); });
        case 3: return administer("remove " + path, [&](side& s) { s.remove(path); });
        case 4: return reconnect("is cut off", client, [&](side& s) { s.cut(client); });
        case 5:
            if (draw(3) == 0)
                reconnect("loses its session", client, [&](side& s) { s.expire(client); });
            return;
        case 6:
            if (draw(3) == 0)
                renew(client);
            return;
        }
    }

    /// Several requests of one client leave before the first is answered. A change of an access list is the last of
    /// them: whether a real server judges what comes right behind it by the old list or by the new one is chance
    /// (`PrepRequestProcessor` sees the new one when it is applied, not when it is queued).
    void pipeline(unsigned client)
    {
        std::vector<std::function<void(side&)>> requests;
        changes_access_ = false;
        for (auto left = 1 + draw(6); left != 0 && !changes_access_; --left)
            requests.push_back(request(client));
        together(client, [&](side& s) {
            for (const auto& send : requests)
                send(s);
        });
    }

    std::function<void(side&)> request(unsigned c)
    {
        const auto path = some_path();
        switch (draw(21)) {
        case 0:
        case 1:
        case 2: {
            const auto kind = static_cast<node_kind>(draw(5));
            const auto access = draw(4) == 0 ? std::optional(some_access()) : std::nullopt;
            return [c, kind, access, name = store::is_sequential(kind) ? path + "/n-" : path,
                    data = std::string(draw(4), 'x')](side& s) {
                create(s, c, name, kind, data, access ? &*access : nullptr);
            };
        }
        case 3:
        case 4:
            return [c, path, version = some_version()](side& s) {
                s.store_of(c).remove(path, version,
                                     [&s, c, path](const store::reply& r) { s.told(c).tell("remove " + path, r); });
            };
        case 5:
        case 6:
        case 7:
            return [c, path, watch = draw(3) != 0](side& s) {
                s.store_of(c).get(path, watch, [&s, c, path](const store::get_reply& r) {
                    s.told(c).tell("get " + path + ' ' + std::string(r.data), r, r.stat);
                });
            };
        case 8:
        case 9:
        case 10:
            return [c, path, watch = draw(3) != 0](side& s) {
                s.store_of(c).children(path, watch, [&s, c, path](const store::children_reply& r) {
                    auto names = *r.names;
                    std::sort(names.begin(), names.end());
                    std::string text = "children " + path;
                    for (const auto& name : names)
                        text += ' ' + name;
                    s.told(c).tell(text, r, r.stat);
                });
            };
        case 11:
            return [c, path](side& s) {
                s.store_of(c).unwatch(path,
                                      [&s, c, path](const store::reply& r) { s.told(c).tell("unwatch " + path, r); });
            };
        case 12:
        case 18:
            return [c, path, watch = draw(3) != 0](side& s) {
                s.store_of(c).exists(path, watch, [&s, c, path](const store::stat_reply& r) {
                    s.told(c).tell("exists " + path, r, r.stat);
                });
            };
        case 19:
            return [c, path](side& s) {
                s.store_of(c).get_acl(path, [&s, c, path](const store::access_reply& r) {
                    s.told(c).tell("get_acl " + path + (r.access ? text_of(*r.access) : ""), r, r.stat);
                });
            };
        case 20:
            changes_access_ = true;
            return [c, path, access = some_access(), version = some_version()](side& s) {
                s.store_of(c).set_acl(path, access, version,
                                      [&s, c, path](const store::reply& r) { s.told(c).tell("set_acl " + path, r); });
            };
        case 13:
        case 14:
            return [c, path, version = some_version(), data = std::string(draw(4), 'y')](side& s) {
                s.store_of(c).set(path, data, version, [&s, c, path](const store::stat_reply& r) {
                    s.told(c).tell("set " + path, r, r.stat);
                });
            };
        default: return batch(c);
        }
    }

    /// The administrator may go on with the node, or the list is refused.
    access_list some_access()
    {
        const auto allowed = [&] {
            return draw(4) != 0 ? permission::all : static_cast<unsigned>(draw(permission::all + 1));
        };
        const access_entry anyone("world", draw(10) == 0 ? "someone" : "anyone", allowed());
        const access_entry more("world", "anyone", allowed() | permission::read | permission::admin);
        if (draw(8) == 0)
            return access_list(std::vector<access_entry>());
        if (draw(2) == 0 || more == anyone) // the servers drop what is said twice
            return {anyone, administrator()};
        return {administrator(), anyone, {"ip", "10.1.2.3"}, more};
    }

    static std::string text_of(const access_list& access)
    {
        std::string text;
        for (const access_entry& entry : access.entries())
            text += ' ' + entry.scheme + ':' + entry.id + ':' + std::to_string(entry.allowed);
        return text;
    }

    std::int32_t some_version() { return draw(2) == 0 ? store::any_version : static_cast<std::int32_t>(draw(3)); }

    /// Some writes of which one may well fail: what is done is undone, and all learn which it was.
    std::function<void(side&)> batch(unsigned c)
    {
        using kind = store::batch_write::kind;
        constexpr kind kinds[] = {kind::create, kind::remove, kind::set, kind::check};
        std::vector<write> writes;
        std::string text = "batch";
        for (auto left = 1 + draw(5); left != 0; --left) {
            write w;
            w.what = kinds[draw(6) % 4]; // creates and deletes more than the others
            w.path = some_path();
            if (w.what == kind::create) {
                w.created = static_cast<node_kind>(draw(4));
                if (store::is_sequential(w.created))
                    w.path += "/n-";
                if (draw(4) == 0)
                    w.access = some_access();
            } else {
                w.version = some_version();
            }
            w.data = std::string(draw(4), 'z');
            text += ' ' + std::to_string(static_cast<int>(w.what)) + w.path;
            writes.push_back(std::move(w));
        }
        return [this, c, text, writes](side& s) {
            std::vector<store::batch_write> asked;
            for (const write& w : writes)
                asked.push_back({w.what, w.path, w.data, w.created, w.version, w.access ? &*w.access : nullptr});
            s.store_of(c).batch(asked, [this, &s, c, text](const store::batch_reply& r) {
                std::string told = text;
                for (const auto& path : r.created)
                    told += " made " + std::string(path);
                for (const auto& stat : r.set)
                    told += " version " + std::to_string(stat.version) + " length " + std::to_string(stat.data_length);
                if (r.result != outcome::ok)
                    told += " failed at " + std::to_string(r.failed);
                ++(r.result == outcome::ok ? batches_done : batches_undone);
                s.told(c).tell(told, r);
            });
        };
    }

    static void create(side& s, unsigned c, const std::string& path, node_kind kind, const std::string& data,
                       const access_list* access = nullptr)
    {
        s.store_of(c).create(path, data, kind, access, [&s, c, path](const store::create_reply& r) {
            s.told(c).tell("create " + path + ' ' + std::string(r.path), r, r.stat);
        });
    }

    /// Sends, on both, and waits until everybody has been told what there is to tell.
    void together(unsigned client, const std::function<void(side&)>& send)
    {
        for (side* s : sides_) {
            send(*s);
            settle(*s, client);
        }
        compare({});
    }

    void administer(const std::string& what, const std::function<void(side&)>& act)
    {
        history_.push_back("the administrator: " + what);
        together(0, act);
    }

    void reconnect(const char* what, unsigned client, const std::function<void(side&)>& act)
    {
        history_.push_back("client " + std::to_string(client) + ' ' + what);
        for (side* s : sides_) {
            const auto before = s->told(client).connections;
            act(*s);
            s->run_until([&] { return s->told(client).connections > before; });
            settle(*s, client);
        }
        compare(client);
    }

    void renew(unsigned client)
    {
        history_.push_back("client " + std::to_string(client) + " closes");
        for (side* s : sides_) {
            bool closed = false;
            s->store_of(client).close([&] { closed = true; });
            s->run_until([&] { return closed; });
            s->reopen(client);
            settle(*s, client);
        }
        compare(client);
    }

    /// A sync of each, the first one's first: what the servers had to tell has come before its answer.
    static void settle(side& s, unsigned first)
    {
        for (unsigned i = 0; i < clients; ++i) {
            const unsigned c = (first + i) % clients;
            bool answered = false;
            s.store_of(c).sync("/", [&](const store::reply& r) {
                answered = true;
                s.told(c).tell("sync", r);
            });
            s.run_until([&] { return answered; });
        }
    }

    /// The nodes of a session that ends go in no particular order, and whether its own client still hears of them is
    /// chance.
    void compare(std::optional<unsigned> whose_session_may_have_ended)
    {
        for (unsigned c = 0; c < clients; ++c) {
            auto real = std::exchange(sides_[0]->told(c).lines, {});
            auto simulated = std::exchange(sides_[1]->told(c).lines, {});
            if (whose_session_may_have_ended) {
                const auto is_event = [](const line& l) { return l.text.starts_with("event "); };
                for (auto* lines : {&real, &simulated}) {
                    if (c == *whose_session_may_have_ended)
                        std::erase_if(*lines, is_event);
                    const auto end = std::find_if_not(lines->begin(), lines->end(), is_event);
                    std::sort(lines->begin(), end, [](const line& a, const line& b) { return a.text < b.text; });
                }
            }
            if (text_of(real) != text_of(simulated))
                for (const std::string& event : history_)
                    std::cout << event << '\n';
            INFO("with ZKLOCK_SEED=", root_.substr(2), " client ", c, " was told really:", text_of(real),
                 "\nand by the simulator:", text_of(simulated));
            REQUIRE(text_of(real) == text_of(simulated));
            for (const line& l : real)
                if (!l.text.starts_with("sync"))
                    history_.push_back("client " + std::to_string(c) + ": " + l.text);
            for (std::size_t i = 0; i < real.size(); ++i) {
                owners_.same(real[i].owner, simulated[i].owner);
                zxids_.same(real[i].czxid, simulated[i].czxid);
                zxids_.same(real[i].mzxid, simulated[i].mzxid);
            }
        }
    }

    static std::string text_of(const std::vector<line>& lines)
    {
        std::string all;
        for (const line& l : lines)
            all += "\n  " + l.text;
        return all;
    }

    side* sides_[2];
    bool changes_access_ = false; ///< a request of the pipeline that is being made
    pairing& zxids_;
    pairing& owners_;
    choices choose_;
    std::string root_;
    std::vector<std::string> history_; ///< for whoever looks into a difference
};

} // namespace zklock::conformance

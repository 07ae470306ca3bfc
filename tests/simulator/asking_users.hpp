#pragma once
#include "contender_names.hpp"
#include "users.hpp"

namespace zklock::simulator {

/// Users of locks who ask holders to let go, holders who want to know of it, and let go or do not. Checks that whoever
/// holds on, and was asked, is told; nobody else; and nobody twice.
template <class Locks> class users_who_ask final : public Locks {
public:
    explicit users_who_ask(stage& s) : Locks(s) {}

    [[nodiscard]] bool all_ended() const override
    {
        return Locks::all_ended() && std::all_of(requests_.begin(), requests_.end(), [](const request& r) {
                   return r.ended || r.where->closed || !r.where->session;
               });
    }

    /// A request takes the place of the data by which a node is known.
    [[nodiscard]] bool is_ours(const znode_tree::node& node) const override
    {
        const bool asked = node.data.starts_with(queue::revocation_request) && node.owner < first_foreign_session;
        return asked ? stage_.ensemble.alive(node.owner) : Locks::is_ours(node);
    }

    /// Who acquires late, because its process was paused, may be patient too.
    [[nodiscard]] instant holding_time() const override
    {
        return Locks::holding_time() + most_patient * instant(patient_hold());
    }

    void finish() override
    {
        Locks::finish();
        for (const auto& r : requests_) {
            if (r.ended || r.where->closed || !r.where->session)
                continue;
            stage_.world.violate("client" + std::to_string(r.where->number) + ": its request to let go never ended");
        }
    }

private:
    using Locks::excused;
    using Locks::now;
    using Locks::on_time;
    using Locks::release;
    using Locks::say;
    using Locks::stage_;
    using Locks::uses_;
    using Locks::violate;

    static constexpr unsigned most_patient = 3;
    static constexpr std::int64_t first_foreign_session = 0x7f00'0000;

    struct request {
        client* where = nullptr;
        bool ended = false;
    };
    /// A holder who wants to know when it is asked.
    struct heeding {
        bool on = false;
        bool told = false;
        bool refused = false; ///< once
        bool asked = false;   ///< for certain
    };

    [[nodiscard]] std::vector<std::string> contenders(unsigned path) const
    {
        std::vector<std::string> nodes;
        for (const auto& name : stage_.ensemble.leaders_tree().children(path_of(path)))
            if (contender_sequence(name))
                nodes.push_back(path_of(path) + '/' + name);
        return nodes;
    }
    /// The node of a holder. A downgrade gives it another one.
    [[nodiscard]] const znode_tree::node* node_of(const use& u) const
    {
        const auto& tree = stage_.ensemble.leaders_tree();
        const auto is_there = [&tree](const held_lock& l) { return tree.find(l.node) != nullptr; };
        const auto found = std::find_if(u.given.rbegin(), u.given.rend(), is_there);
        return found == u.given.rend() ? nullptr : tree.find(found->node);
    }
    [[nodiscard]] bool is_asked(const use& u) const
    {
        const auto* const n = node_of(u);
        return n != nullptr && n->data == queue::revocation_request;
    }
    /// Whoever noted something on the node has overwritten the request.
    [[nodiscard]] bool was_asked(const use& u) const
    {
        const auto* const n = node_of(u);
        return n == nullptr || (n->data.starts_with(queue::revocation_request) && n->data != queue::revocation_request);
    }

    /// Some hold on until they are asked: past the end of all trouble, if nobody does.
    void choose(use& u) override
    {
        Locks::choose(u);
        if (u.wish.choice % 3 != 1 || patient_ == most_patient)
            return;
        ++patient_;
        u.wish.duration = patient_hold();
    }
    [[nodiscard]] std::chrono::milliseconds patient_hold() const
    {
        return stage_.the_plan.set.quiet_after + std::chrono::duration_cast<std::chrono::milliseconds>(3 * patience());
    }

    void check_begin(use& u) override
    {
        if (u.wish.choice % 4 == 0)
            ask_later(u, std::chrono::microseconds(u.wish.choice % 40'000));
    }

    void check_granted(use& u) override
    {
        Locks::check_granted(u);
        heeds_[&u] = {};
        const auto& node = u.given.front().node;
        if (contains(to_go_, node))
            violate(u, "granted on a node whose last holder was asked to give it up");
        auto& c = stage_.current(u.client);
        if (u.wish.choice % 5 == 0)
            return; // it does not want to know
        const auto delay = std::chrono::microseconds(u.wish.choice % 7 < 3 ? 0 : u.wish.choice % 30'000);
        (void)c.where.call_at(c.where.now() + delay, [this, &c, &u, at = u.granted_at] {
            if (u.granted_at == at)
                heed(c, u);
        });
        if (u.wish.choice % 10 != 1)
            ask_later(u, std::chrono::microseconds(u.wish.choice % 50'000));
        if (u.wish.choice % 5 == 1) { // about when a writer reads on
            const auto width = stage_.the_plan.set.slow_message();
            ask_later(u, std::max(u.wish.duration / 2 - width, width) + u.wish.choice % 16 * width / 8);
        }
    }

    /// A writer's node was replaced: its reader's node says what that one said.
    void reads_on(use& u) override
    {
        if (heeds_[&u].asked && u.believes() && !excused(u) && !was_asked(u) && !is_asked(u)) {
            violate(u, "asked to let go, and its reader's node does not say so");
        }
    }

    void heed(client& c, use& u)
    {
        if (u.now != use::phase::holding || !c.session || c.closing)
            return;
        say(u, "wants to know when it is asked to let go");
        heeds_[&u].on = true;
        stage_.call(c, [&](recipes::session&) { u.handle->on_revoked([this, &c, &u] { asked(c, u); }); });
        if (is_asked(u))
            expect_told(u);
    }

    /// It is told that it was asked, and lets go; or does not, and is told again when it asks again.
    void asked(client& c, use& u)
    {
        if (!stage_.may_tell(c))
            return;
        say(u, "is asked to let go");
        auto& h = heeds_[&u];
        if (std::exchange(h.told, true))
            return violate(u, "told twice that it is asked to let go");
        if (u.now != use::phase::holding)
            return violate(u, "asked to let go of what it does not hold");
        const auto* const n = node_of(u);
        // After a restore what was asked may be undone, and whoever was asked has heard of it all the same.
        const bool undone = stage_.ensemble.was_set_back();
        if (n != nullptr && !n->data.starts_with(queue::revocation_request) && !undone) {
            return violate(u, "told that it is asked to let go, and nobody has asked");
        }
        to_go_.push_back(u.given.front().node);
        if (u.wish.choice % 11 < 3 && !std::exchange(h.refused, true)) {
            say(u, "does not let go");
            h.told = false;
            return c.where.post([this, &c, &u, at = u.granted_at] {
                if (u.granted_at == at)
                    heed(c, u);
            });
        }
        (void)c.where.call_at(c.where.now() + std::chrono::microseconds(u.wish.choice % 3'000),
                              [this, &c, &u, at = u.granted_at] {
                                  if (u.granted_at == at)
                                      release(c, u);
                              });
    }

    // ---- those who ask

    void ask_later(const use& u, std::chrono::microseconds delay)
    {
        const unsigned who = (u.client + u.wish.choice) % stage_.the_plan.set.clients;
        stage_.world.time.after(delay, [this, who, path = u.paths.front(), choice = u.wish.choice / 7] {
            stage_.current(who).where.post([this, who, path, choice] {
                auto& c = stage_.current(who);
                if (!c.closing && c.session)
                    ask(c, path, choice);
            });
        });
    }

    void ask(client& c, unsigned path, std::uint32_t choice)
    {
        const auto nodes = contenders(path);
        const std::string some = nodes.empty() ? std::string() : nodes[choice % nodes.size()];
        if (choice % 3 != 0 && some.empty())
            return;
        if (choice % 3 == 2) { // as another program does it
            transaction t;
            t.what = transaction::kind::set_data;
            t.path = some;
            t.data = std::string(queue::revocation_request);
            stage_.world.log.line(now(), "admin", "asks " + some + " to let go");
            stage_.ensemble.administrate(std::move(t));
            for (auto& u : uses_)
                heeds_[&u].asked |= u.has_it() && !u.given.empty() && is_asked(u);
            return expect_all_told(path);
        }
        requests_.push_back({&c});
        auto& r = requests_.back();
        const auto answered = [this, &c, &r, path](boost::system::error_code ec, std::size_t count) {
            if (!stage_.may_tell(c))
                return;
            const auto who = "client" + std::to_string(c.number);
            if (r.ended)
                return stage_.world.violate(who + ": its request to let go ended twice");
            r.ended = true;
            stage_.world.log.line(now(), "user", who + " has asked " + std::to_string(count) + " to let go");
            if ((Locks::one_holds && count > 1) || (ec && count != 0)) {
                stage_.world.violate(who + ": asked more than the holder");
            }
            const bool explained = ec == make_error_code(errc::closed) || ec == make_error_code(errc::access_denied);
            if (ec && !explained) {
                stage_.world.violate(who + ": its request to let go failed: " + ec.message());
            }
            if (count != 0)
                expect_all_told(path);
        };
        stage_.call(c, [&](recipes::session&) {
            if (choice % 3 == 0)
                recipes::revoke_holders(*c.session, path_of(path), answered);
            else
                recipes::revoke(*c.session, path_of(path), some, answered);
        });
    }

    // ---- who has to learn of it

    void expect_all_told(unsigned path)
    {
        for (auto& u : uses_)
            if (u.now == use::phase::holding && u.paths.front() == path && heeds_[&u].on && is_asked(u))
                expect_told(u);
    }

    /// Longer than faults last that began before the quiet phase, and than it takes to look at a node.
    [[nodiscard]] instant patience() const
    {
        const auto& set = stage_.the_plan.set;
        return 4 * instant(set.session_timeout) + 20 * instant(set.slow_message()) + std::chrono::seconds(1);
    }

    /// Whoever is asked learns of it while it holds, or the trouble lasts.
    void expect_told(use& u, bool was_quiet = false)
    {
        const bool quiet = stage_.world.quiet;
        stage_.world.time.after(patience(), [this, &u, at = u.granted_at, was_quiet, quiet] {
            const bool still = u.now == use::phase::holding && u.granted_at == at && !heeds_[&u].told;
            if (!still || excused(u) || was_asked(u))
                return;
            if (!was_quiet || !u.believes() || !on_time(u))
                return expect_told(u, quiet);
            violate(u, "asked to let go, and it was not told");
        });
    }

    std::map<const use*, heeding> heeds_;
    std::deque<request> requests_;
    std::vector<std::string> to_go_;
    unsigned patient_ = 0;
};

} // namespace zklock::simulator

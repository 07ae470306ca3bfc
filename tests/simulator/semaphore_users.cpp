// The users of the semaphore: users who want one permit or several, and give them back at once or in two parts. Their
// number is a convention, is compared, or is a shared count that an administrator changes.
#include "users.hpp"

#include "recipes/semaphore/semaphores.hpp"

namespace zklock::simulator {

namespace {

class semaphore_users final : public acquisition_users {
public:
    explicit semaphore_users(stage& s)
        : acquisition_users(s), permits_(1 + static_cast<unsigned>(s.the_plan.seed / 8 % 4))
    {
        const auto way = s.the_plan.seed / 4 % 8;
        counted_ = way == 1 || way == 2;
        compared_ = way == 3;
        if (compared_)
            other_maximum_ = s.the_plan.seed / 64 % 4 == 0;
    }

    void client_died(client& c) override
    {
        acquisition_users::client_died(c);
        semaphores_.erase(&c);
    }

    [[nodiscard]] std::vector<std::string> places(unsigned path) const override
    {
        const auto where = layout(path);
        return {where.permits, where.line};
    }

    /// An administrator changes the shared count instead.
    bool administrate(const step& s) override
    {
        if (!counted_ || s.what != act::set_parent_data)
            return false;
        const auto node = count_path(s.path);
        if (stage_.ensemble.leaders_tree().find(node) == nullptr)
            return true;
        const unsigned value = s.choice % 7;
        stage_.ensemble.administrate({.what = transaction::kind::set_data,
                                      .path = node,
                                      .data = recipes::count_data(static_cast<std::int32_t>(value))});
        maxima_[s.path].push_back({now(), value});
        return true;
    }

    void set_back() override
    {
        acquisition_users::set_back();
        last_token_.clear();
        for (unsigned p = 0; counted_ && p < stage_.the_plan.set.paths; ++p) {
            const auto* const node = stage_.ensemble.leaders_tree().find(count_path(p));
            unsigned value = permits_; // it is made again with that, if it is not there
            for (unsigned v = 0; node != nullptr && v < 7; ++v)
                value = node->data == recipes::count_data(static_cast<std::int32_t>(v)) ? v : value;
            maxima_[p].push_back({now(), value});
        }
        if (stage_.world.quiet)
            become_quiet();
    }

    /// Nobody is to wait for permits that there are never.
    void become_quiet() override
    {
        for (unsigned p = 0; counted_ && p < stage_.the_plan.set.paths; ++p) {
            if (stage_.ensemble.leaders_tree().find(count_path(p)) == nullptr)
                continue;
            stage_.ensemble.administrate({.what = transaction::kind::set_data,
                                          .path = count_path(p),
                                          .data = recipes::count_data(static_cast<std::int32_t>(permits_))});
            maxima_[p].push_back({now(), permits_});
        }
    }

private:
    struct change {
        instant at{0};
        unsigned value = 0;
    };
    using acquisition_ptr = std::shared_ptr<recipes::semaphore_acquisition>;

    [[nodiscard]] recipes::semaphore_layout layout(unsigned path) const
    {
        return {path_of(path), stage_.the_plan.seed % 2 == 0 ? naming::curator : naming::kazoo};
    }
    static std::string count_path(unsigned path) { return path_of(path) + "-count"; }

    std::shared_ptr<recipes::acquisition> start(client& c, use& u, recipes::acquire_call call) override
    {
        auto& own = semaphores_[&c];
        if (!own)
            own = std::make_unique<recipes::semaphores>(*c.locks);
        const std::size_t wanted = 1 + u.wish.choice % std::min(permits_, 3u);
        recipes::permits_request request;
        static_cast<recipes::acquire_call&>(request) = std::move(call);
        const auto common = options_of(u);
        request.path = path_of(u.paths.front());
        request.options.permits = of_client(u.client);
        request.options.names = common.names;
        request.options.parents = common.parents;
        request.options.identifier = common.identifier;
        request.options.access = common.access;
        request.options.listener = common.listener;
        request.options.max_attempts = common.max_attempts;
        request.options.properties = {{"count", std::to_string(wanted)}};
        request.options.check_permits = compared_;
        if (counted_)
            request.options.count_path = count_path(u.paths.front());
        request.count = wanted_[&u] = wanted;
        auto& started = acquisitions_[&u];
        started = own->acquire(std::move(request));
        return started;
    }

    /// One client may mean another number.
    [[nodiscard]] unsigned of_client(unsigned client) const
    {
        return permits_ + (other_maximum_ && client == 0 ? 1 : 0);
    }

    bool is_deleted(const use& u) const override
    {
        const auto nodes = nodes_of(u);
        return std::any_of(nodes.begin(), nodes.end(), [&](const auto& node) { return contains(deleted_, node); });
    }

    bool passes_nodes_on(const use&) const override { return false; }

    /// The nodes of all its permits; what it has of them changes.
    std::vector<std::string> nodes_of(const use& u) const override
    {
        std::vector<std::string> nodes;
        for (const auto& node : acquisitions_.at(&u)->nodes)
            nodes.push_back(layout(u.paths.front()).permits + '/' + node->name);
        return nodes;
    }

    void check_lock(use& u, const held_lock& given, unsigned path) override
    {
        const held_lock l = given; // one of those that others join now
        const auto nodes = nodes_of(u);
        if (nodes.size() != wanted_[&u] || acquisitions_[&u]->count() != nodes.size())
            return violate(u, "granted another number of permits");
        if (nodes.front() != l.node)
            return violate(u, "granted another node");
        for (const auto& node : nodes) {
            if (node != l.node)
                u.given.push_back({l.path, node, l.fencing_token});
        }
        const auto& tree = stage_.ensemble.leaders_tree();
        for (const auto& node : nodes) {
            const auto* const found = tree.find(node);
            if (found == nullptr) {
                if (!excused(u))
                    violate(u, "granted without " + node);
                continue;
            }
            check_owner(u, *found);
            const auto data = u.tag + "\ncount=" + std::to_string(nodes.size());
            if (found->version == 0 && found->data != data)
                violate(u, "its node says " + found->data);
        }
        if (excused(u))
            return;
        // Nobody deletes the path, nor changes what it says: all go by the number that came first. (Which may be lost
        // with what was written since a backup.)
        if (compared_ && !stage_.ensemble.was_set_back() && stage_.the_plan.seed % 2 == 0 &&
            !stage_.the_plan.set.parents_are_containers &&
            tree.find(path_of(path))->data != std::to_string(of_client(u.client))) {
            violate(u, "granted, though its path says " + tree.find(path_of(path))->data);
        }
        if (!line_disturbed(path)) {
            auto& last = last_token_[path];
            if (l.fencing_token <= last) {
                violate(u, "the token is " + std::to_string(l.fencing_token) + " after " + std::to_string(last));
            }
            last = l.fencing_token;
        }
        std::size_t held = 0;
        for (auto& other : uses_) {
            if (other.paths != u.paths || !acquisitions_.contains(&other))
                continue;
            check_told(other);
            if (other.believes() && !excused(other))
                held += acquisitions_[&other]->count();
        }
        const auto changed = u.store->told_changed(count_path(path));
        if (counted_ && changed && now() - *changed > promptly && u.where->runs_undelayed())
            violate(u, "granted, though the client knew that the count has changed, and has not read it since");
        if (held > most_since(u.began, path)) {
            violate(u, "granted while " + std::to_string(held) + " permits are held, with its own, of " +
                           std::to_string(most_since(u.began, path)));
        }
    }

    /// Others have deleted nodes of the line: then two may be at its head for a while, until they notice.
    [[nodiscard]] bool line_disturbed(unsigned path) const
    {
        const auto line = layout(path).line + '/';
        return std::any_of(deleted_.begin(), deleted_.end(), [&](const auto& node) { return node.starts_with(line); });
    }

    /// The largest number of permits that a grant of an acquire from then on may be based on.
    [[nodiscard]] std::size_t most_since(instant began, unsigned path) const
    {
        const unsigned at_first = other_maximum_ ? permits_ + 1 : permits_;
        if (!counted_)
            return at_first;
        std::size_t most = 0;
        unsigned before = at_first;
        if (const auto found = maxima_.find(path); found != maxima_.end()) {
            for (const auto& m : found->second) {
                if (m.at >= began)
                    most = std::max<std::size_t>(most, m.value);
                else
                    before = m.value;
            }
        }
        return std::max<std::size_t>(most, before);
    }

    void check_granted(use& u) override
    {
        if (wanted_[&u] < 2 || u.wish.choice % 3 != 0)
            return;
        // A part of them goes back before the others.
        (void)u.where->call_at(u.where->now() + u.wish.duration / 2, [this, &u] {
            if (u.now != use::phase::holding)
                return;
            auto& c = stage_.current(u.client);
            if (&c.where != u.where || c.closing)
                return;
            stage_.call(c, [&](recipes::session&) {
                const auto before = acquisitions_[&u]->count();
                const auto part = acquisitions_[&u]->split(1);
                if (!part)
                    return;
                say(u, "gives one back");
                if (part->count() != 1 || acquisitions_[&u]->count() != before - 1)
                    violate(u, "split into other numbers");
                part->release({});
            });
        });
    }

    unsigned most_attempts(const use& u) const override { return u.wish.max_attempts; }
    bool uses_registers() const override { return false; } // several hold permits, and do not exclude each other

    void heard(use& u, const lock_event& e) override
    {
        if (e.what != lock_event::kind::released || e.error)
            return;
        if (stage_.ensemble.answers_from_the_past())
            return; // a leader that was given up may say of a session that it is over
        const auto& tree = stage_.ensemble.leaders_tree();
        for (const auto& l : u.given)
            if (tree.find(l.node) != nullptr)
                violate(u, "its listener hears of a release, and there is " + l.node);
    }

    void check_heard(const use& u, lock_event::kind what, boost::system::error_code ec) override
    {
        if (!u.heard)
            return;
        const auto* const last = u.heard->last();
        if (last == nullptr || last->what != what || last->error != ec)
            violate(u, "its listener has not heard that before: " + std::string(to_string(what)));
        else if (what == lock_event::kind::acquired && last->node != u.given.front().node)
            violate(u, "its listener has heard of another node");
    }

    bool may_fail(const use& u, boost::system::error_code ec) const override
    {
        if (ec == make_error_code(errc::lost))
            return u.wish.look_once;
        return other_maximum_ && ec == make_error_code(errc::invalid_option);
    }

    const unsigned permits_;
    bool counted_ = false;
    bool compared_ = false;
    bool other_maximum_ = false; ///< the first client means another number than the rest
    std::map<const client*, std::unique_ptr<recipes::semaphores>> semaphores_;
    std::map<const use*, acquisition_ptr> acquisitions_;
    std::map<const use*, std::size_t> wanted_;
    std::map<unsigned, std::vector<change>> maxima_; ///< of the shared counts, by path
    std::map<unsigned, std::int64_t> last_token_;
};

} // namespace

std::unique_ptr<scenario> make_semaphore_users(stage& s)
{
    return std::make_unique<semaphore_users>(s);
}

} // namespace zklock::simulator

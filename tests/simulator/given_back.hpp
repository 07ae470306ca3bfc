#pragma once
#include "recipes/acquisition/acquisition.hpp"
#include "simulated_store.hpp"
#include "zklock/errc.hpp"

namespace zklock::simulator {

/// What was known of a lock when its release began, and what the end of the release has to say of that.
class given_back {
public:
    given_back() = default;
    /// `held`: as far as its process could know. `deleted`: others had deleted a node of it.
    given_back(const simulated_store& store, bool held, bool deleted)
        : held_(held), deleted_(deleted), session_(store.session_id()), epoch_ends_(store.epoch_ends())
    {
    }

    /// What is wrong with that end; empty if nothing is. `asks`: the servers are asked to delete its node, which is not
    /// passed on. `deleted`: others have deleted a node of it by now.
    [[nodiscard]] std::string_view fault_of(boost::system::error_code ec, const simulated_store& store,
                                            const ensemble& servers, bool asks, bool deleted) const
    {
        const bool lost = ec == make_error_code(errc::lost);
        // The delete was sent once at most, and has its answer.
        const bool answered = store.epoch_ends() == epoch_ends_ && store.session_id() == session_;
        if (!ec && held_ && deleted_ && asks && answered && !store.overdue())
            return "released without an error, though others had deleted its node before";
        // The end of a session may be heard of as the end of a node first.
        const bool goes_on = store.session_id() == session_ && servers.alive(session_);
        if (lost && held_ && !deleted && !deleted_once_ && goes_on)
            return "released as lost, though nobody else has deleted its node";
        return {};
    }
    [[nodiscard]] bool held() const noexcept { return held_; }
    /// Its node is there, since the servers were set back. `deleted`: others had deleted it, which may be known.
    void node_is_back(bool deleted) noexcept
    {
        deleted_once_ = deleted_once_ || deleted_ || deleted;
        deleted_ = false;
    }

    /// It has ended. Where the session should have been over by then, its node may have been there still.
    void ended(const simulated_store& store) { early_ = store.overdue(); }
    [[nodiscard]] bool early() const noexcept { return early_; }

private:
    bool held_ = false;
    bool deleted_ = false;
    bool deleted_once_ = false;
    bool early_ = false;
    std::int64_t session_ = 0;
    std::uint64_t epoch_ends_ = 0;
};

} // namespace zklock::simulator

#pragma once
#include "recipes/requests/watched_path.hpp"
#include "recipes/session/session.hpp"
#include "recipes/session/session_member.hpp"
#include "zklock/node.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace zklock::recipes {

/// What the users of a client wait for, at all paths.
///
/// **One watch of a path for all.** The servers have one watch of a kind for each node and session, and a watch that is
/// taken back is taken from everybody. So a path's watches are taken back only when nobody of the client wants them any
/// more, neither a user nor a recipe (listeners::wanted()), which is asked when the request is sent: what is asked for
/// after that is armed after it.
class node_watches final : private session_member {
public:
    explicit node_watches(session&);
    ~node_watches() override;
    node_watches& operator=(node_watches&&) = delete;

    /// Begins to wait at a path.
    std::shared_ptr<node_wait> wait(const std::string& path, node_wait::goal, std::optional<node_stat> seen,
                                    node_wait::done_function);

private:
    friend class watched_path;
    class watch_return;

    // --- called by the session ---------------------------------------------------------------------------------------

    void epoch_began() override;
    void epoch_ended() override;
    void stop(errc why) override;
    void on_own_event(store::event_kind, std::string_view path) override;

    // -----------------------------------------------------------------------------------------------------------------

    watched_path& at(const std::string& path);
    /// Nobody waits there any more, and no answer is due.
    void forget(watched_path&);
    template <class Step> void for_each_path(Step step);

    session& session_;
    std::unordered_map<std::string_view, std::unique_ptr<watched_path>> paths_; ///< by their own names
    std::uint64_t epoch_ = 0;
};

} // namespace zklock::recipes

#pragma once
#include "c_client/session.hpp"

#include <functional>
#include <map>
#include <string>

namespace zklock::bench {

/// The algorithm of ZooKeeper's own C recipe (`zoo_lock.c`), request by request, with asynchronous calls instead of
/// blocking ones. One difference: where a predecessor is gone before it can be watched, the recipe gives up its place
/// in the queue and reports success; here it looks again.
///
/// It names nodes by the session, so one session can have one contender per path.
class recipe_lock {
public:
    /// Takes over the session's events, together with others of that session.
    recipe_lock(session& s, std::map<std::string, recipe_lock*>& watchers, std::string path);

    void lock(std::function<void()> granted);
    void unlock(std::function<void()> released);
    [[nodiscard]] const std::string& node() const { return node_; } ///< its name, while it has one

    /// Passes the event of a session on to the lock that waits for it.
    static void dispatch(std::map<std::string, recipe_lock*>& watchers, const char* path);

private:
    void look_for_parent();
    void look_for_own();
    void create_own();
    void find_predecessor();
    void watch(const std::string& predecessor);

    session& session_;
    std::map<std::string, recipe_lock*>& watchers_;
    std::string path_;
    std::string prefix_;
    std::string node_; ///< name of the own node; empty when there is none
    std::function<void()> granted_;
};

} // namespace zklock::bench

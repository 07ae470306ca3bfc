#pragma once
#include <cstdint>
#include <map>
#include <memory>

namespace zklock {
enum class errc;
}

namespace zklock::recipes {

class session_core;

/// What a user has asked for that needs a connection, besides locks; see request_for.hpp.
class user_request : public std::enable_shared_from_this<user_request> {
public:
    enum class withdrawal : std::uint8_t {
        ended,     ///< before: its user is told, or has been
        withdrawn, ///< nothing has been done that matters, and nothing will be
        too_late   ///< it was sent, and is not one to be repeated: it may be done
    };

    virtual ~user_request() = default;
    user_request(const user_request&) = delete;
    user_request& operator=(const user_request&) = delete;

    /// There is a connection: sends what is to be sent.
    virtual void start() = 0;
    /// Ends it, unless it has ended.
    virtual void fail(errc why) = 0;
    /// Its user wants to hear no more of it. Not called again, unless it has ended.
    virtual withdrawal withdraw() = 0;
    /// Ends it with `why` if it is not under way, or as soon as it turns out that it had not left. What was sent has
    /// its own end.
    virtual void end_unsent(errc why) = 0;

protected:
    user_request() = default;

private:
    friend class request_line;
    std::uint64_t turn_ = 0; ///< in the order of the calls
};

/// The requests of a client that wait for a connection, in the order in which they were called: one that comes back,
/// for its connection was lost, has its old place.
class request_line {
public:
    explicit request_line(session_core& core) : core_(core) {}
    request_line(const request_line&) = delete;
    request_line& operator=(const request_line&) = delete;

    /// Starts it at once, or as soon as there is a connection; or ends it if there will be none.
    void enter(std::shared_ptr<user_request>);
    /// It waits no more.
    void leave(user_request&) noexcept;

    // --- called by the session --------------------------------------------------------------------------------------

    void epoch_began();
    void stop(errc why);

private:
    session_core& core_;
    std::map<std::uint64_t, std::shared_ptr<user_request>> waiting_; ///< by their turns
    std::uint64_t last_turn_ = 0;
};

} // namespace zklock::recipes

#pragma once
#include "recipes/session/session_part.hpp"

#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <optional>

namespace zklock {
enum class errc;
}

namespace zklock::recipes {

/// Something that a user has asked for, and may want no more.
class withdrawable {
public:
    enum class withdrawal : std::uint8_t {
        ended,     ///< before: its user is told, or has been
        withdrawn, ///< nothing has been done that matters, and nothing will be
        too_late   ///< it was sent, and is not one to be repeated: it may be done
    };

    virtual ~withdrawable() = default;
    withdrawable& operator=(withdrawable&&) = delete;

    /// Its user wants to hear no more of it. Not called again, unless it has ended.
    virtual withdrawal withdraw() = 0;
};

/// What a user has asked for that needs a connection, besides locks; see request_for.hpp.
class user_request : public withdrawable, public std::enable_shared_from_this<user_request> {
public:
    /// It has come up, and there is a connection: makes the next request that it has to make, if there is one.
    virtual void send_next() = 0;
    /// Whether it has a request to make besides the first.
    [[nodiscard]] virtual bool has_more() const noexcept { return false; }
    /// The connection has ended, and no answer is due, but it has more to send: begins again.
    virtual void begin_again() = 0;
    /// Ends it, unless it has ended.
    virtual void fail(errc why) = 0;
    /// Ends it with `why` if it is not under way, or as soon as it turns out that it had not left. What was sent has
    /// its own end.
    virtual void end_unsent(errc why) = 0;

protected:
    /// `bytes`: what each of its requests carries, if that is much.
    explicit user_request(std::size_t bytes) : bytes_(bytes) {}

private:
    friend class request_line;
    const std::size_t bytes_;
    std::uint64_t place_in_line_ = 0; ///< in the order of the calls
    bool goes_on_ = false;            ///< it is among those that have more to send
    std::list<std::shared_ptr<user_request>>::iterator going_on_at_;
};

/// What users of a client have asked for, and has to wait: for a connection, or for what is under way.
///
/// A request comes up in the order of the calls; one that comes back, for its connection was lost, has its old place.
/// Those that are made of many, such as lists, send the first when they come up, and then one after the other, a
/// request each, while every second request is of those that are still to come up. So neither waits for all of the
/// other.
class request_line : session_part {
public:
    /// How many of these requests may be under way at once, each of weight 1. All requests of a client go one after the
    /// other through one connection: a heartbeat, a create or a delete that is sent now waits for these answers, and
    /// for no more. Servers answer 64 small reads in a few milliseconds, and more of them under way would make nothing
    /// faster.
    static constexpr std::size_t most_under_way = 64;
    /// What a list of children weighs: it may have 100,000 of them, which take a server 0.1 s. So eight are under way.
    static constexpr std::size_t weight_of_list = most_under_way / 8;
    /// How many bytes of data they may carry to the servers, unless it is one alone: a quarter of the longest request,
    /// as for the transactions of locks.
    static constexpr std::size_t most_bytes_under_way = 256 * 1024;

    using session_part::session_part;

    /// Enters it, or ends it if there is a reason.
    std::shared_ptr<user_request> begin(std::shared_ptr<user_request>, std::optional<errc> why_not);
    /// Its first request is made at once, or when it comes up; or it is ended if there will be no connection.
    void enter(std::shared_ptr<user_request>);
    /// It has more to send.
    void go_on(user_request&);
    /// It waits no more.
    void leave(user_request&) noexcept;
    /// One of its requests is being made, which weighs so much.
    void sends(user_request&, std::size_t weight) noexcept;
    /// One of its requests was answered. The caller then takes the answer, and calls proceed().
    void answered(user_request&, std::size_t weight) noexcept;
    /// Sends what may go now.
    void proceed();

    /// What may be under way, by weight. Tests set another before the first is made.
    std::size_t window = most_under_way;

    // --- called by the session --------------------------------------------------------------------------------------

    void epoch_ended();
    void stop(errc why);

private:
    using requests = std::list<std::shared_ptr<user_request>>;

    [[nodiscard]] bool may_go(const user_request&) const noexcept;
    [[nodiscard]] std::shared_ptr<user_request> next_to_come_up();
    void send(user_request&);
    void send_one();

    std::map<std::uint64_t, std::shared_ptr<user_request>> waiting_; ///< to come up, in the order of the calls
    requests going_on_;                                              ///< one after the other
    std::uint64_t last_place_ = 0;
    std::size_t under_way_ = 0; ///< by weight
    std::size_t bytes_ = 0;     ///< of those
    bool one_came_up_ = false;  ///< the last one sent had waited
};

} // namespace zklock::recipes

#pragma once

namespace zklock::recipes {

class session;

/// A part of a session, which has the others by way of that.
class session_part {
public:
    explicit session_part(session& s) noexcept : session_(s) {}
    session_part& operator=(session_part&&) = delete;

protected:
    ~session_part() = default;

    session& session_;
};

} // namespace zklock::recipes

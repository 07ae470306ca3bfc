#pragma once
#include <cstdint>

namespace zklock::bridge {

/// What an attempt to connect is for, where there is a session.
enum class session_question : std::uint8_t {
    service, ///< that the session goes on, on a server that knows all that this client has seen
    session, ///< whether the server knows the session, whatever this client has seen: the attempt brings no connection
    end      ///< the same; and if it does, the session is ended
};

/// What an attempt that has failed was told.
enum class session_answer : std::uint8_t {
    none,     ///< nothing that has to do with the session, or that it has expired, to one who asked for service
    hung_up,  ///< the server has hung up without an answer
    unknown,  ///< that there is no such session (to one who did not ask for service)
    taken_up, ///< that the session goes on (to the same), which was asked for no more
};

/// What has ended.
enum class loss : std::uint8_t {
    connection,  ///< or the attempt to make one
    security,    ///< the attempt, because TLS was not agreed on
    session,     ///< the server said that it is over: the next attempt asks for a new one
    disbelieved, ///< the attempt: the server said so, and was not to be believed
    credentials  ///< they were refused: it ends when all servers that answer in a cycle do so
};

} // namespace zklock::bridge

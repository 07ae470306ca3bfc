#pragma once
#include "driver/driver.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace zklock::bench {

/// The processes before and behind this one in a ring, to which it speaks without a server: by datagrams, to sockets
/// beside the file `board` of the request.
class neighbours {
public:
    explicit neighbours(const request& asked);
    ~neighbours();
    neighbours(const neighbours&) = delete;
    neighbours& operator=(const neighbours&) = delete;

    [[nodiscard]] int socket() const { return socket_; }
    [[nodiscard]] std::int64_t self() const { return self_; }
    [[nodiscard]] std::int64_t next() const { return (self_ + 1) % processes_; }

    void tell_next(const std::string& text) { tell(next(), text); }
    void tell_previous(const std::string& text) { tell((self_ + processes_ - 1) % processes_, text); }
    [[nodiscard]] std::optional<std::string> hear(); ///< what was told, or nothing if nobody has told anything more

private:
    [[nodiscard]] std::string name_of(std::int64_t process) const;
    void tell(std::int64_t process, const std::string& text);

    std::string board_;
    std::int64_t self_, processes_;
    int socket_;
};

} // namespace zklock::bench

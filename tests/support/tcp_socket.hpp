#pragma once
#include "support/polling.hpp"
#include "support/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <string>

namespace zklock::test {

/// A connection to a port of the loopback interface. Calls block until done; each throws after the limit.
class tcp_socket {
public:
    tcp_socket() = default;
    tcp_socket(std::uint16_t port, milliseconds limit);

    void send(std::string_view bytes);
    [[nodiscard]] std::string receive(std::size_t count); ///< exactly so many
    [[nodiscard]] std::string receive_to_end();

    explicit operator bool() const noexcept { return static_cast<bool>(fd_); }
    void close() noexcept { fd_.reset(); }

private:
    void wait_for(short events, steady_clock::time_point end);

    unique_fd fd_;
    milliseconds limit_{};
};

} // namespace zklock::test

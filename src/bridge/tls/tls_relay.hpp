#pragma once
#include "bridge/tls/engine.hpp"
#include "bridge/wire/relay.hpp"

#include <array>
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace zklock::bridge {

/// The relay that speaks TLS with the server: the C client writes and reads what is not encrypted.
class tls_relay final : public relay {
public:
    /// Throws std::bad_alloc only.
    tls_relay(std::shared_ptr<const tls_context> context, const server_name& name);
    ~tls_relay() override;

    [[nodiscard]] state now_in() const noexcept override;
    state shake_hands(int server) noexcept override;
    [[nodiscard]] int open_pair() noexcept override;
    void close_clients_end() noexcept override;
    void bring_in(int server) noexcept override;
    void bring_out(int server) noexcept override;
    void say_goodbye(int server) noexcept override;
    [[nodiscard]] bool holds_input() const noexcept override { return !waiting_.empty(); }
    [[nodiscard]] bool holds_output() const noexcept override { return !engine_->pending().empty(); }
    [[nodiscard]] const std::string& why() const noexcept override { return engine_->failure(); }
    [[nodiscard]] bool has_failed() const noexcept override;
    void leave_to_parent() noexcept override;

private:
    static constexpr std::size_t record = 16 * 1024; ///< TLS's longest
    using buffer = std::array<char, record>;

    std::size_t receive(int server) noexcept;
    void send_pending(int server) noexcept;
    [[nodiscard]] bool give_to_client() noexcept;
    void end_input() noexcept;

    std::unique_ptr<tls_engine> engine_;
    int own_end_ = -1;
    int clients_end_ = -1;
    bool hung_up_ = false;     ///< the server, or the network between
    bool input_ended_ = false; ///< and the C client has been told
    std::span<const char> waiting_{}; ///< in input_: for the C client
    buffer input_;
};

} // namespace zklock::bridge

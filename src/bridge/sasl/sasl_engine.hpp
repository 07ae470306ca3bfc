#pragma once
#include "bridge/sasl/gate.hpp"
#include "bridge/wire/engine.hpp"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace zklock::bridge {

/// A gate as the engine of one connection: over TLS, or alone, where nothing is encrypted. Once the gate is open and
/// empty, it leaves.
class sasl_engine final : public engine {
public:
    /// `tls` is null where the server is spoken to in clear.
    sasl_engine(std::unique_ptr<mechanism> by, std::unique_ptr<engine> tls);

    [[nodiscard]] const sasl_gate& gate() const noexcept { return gate_; }
    /// What is written and read passes as it is, and the gate keeps nothing: it is not needed any more.
    [[nodiscard]] bool may_leave() const noexcept { return gate_.is_empty(); }
    /// Then TLS is spoken without it, by this engine, and the object must only be destroyed. Null without TLS.
    [[nodiscard]] std::unique_ptr<engine> leave() noexcept { return std::move(tls_); }

    [[nodiscard]] state now_in() const noexcept override;
    state advance() noexcept override;
    void put(std::span<const char> came) noexcept override;
    void no_more(std::string_view why) noexcept override;
    [[nodiscard]] std::span<const char> pending() const noexcept override;
    void sent(std::size_t) noexcept override;
    bool write(std::span<const char> plain) noexcept override;
    std::size_t read(std::span<char> plain) noexcept override;
    void shut_down() noexcept override;
    [[nodiscard]] const std::string& failure() const noexcept override;
    [[nodiscard]] bool heard() const noexcept override { return tls_ ? tls_->heard() : heard_; }

private:
    template <class Change> void change(Change) noexcept;
    void bring_from_tls() noexcept;

    sasl_gate gate_;
    std::unique_ptr<engine> tls_;
    state without_tls_ = state::open;
    bool heard_ = false;
    std::string why_; ///< it has failed, though the gate has not
};

} // namespace zklock::bridge

#pragma once
#include "bridge/sasl/credentials.hpp"
#include "bridge/sasl/kdc_calls.hpp"
#include "bridge/sasl/sasl_engine.hpp"

#include <atomic>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zklock::bridge {

/// Has the first token made for a server of these names: that may ask a KDC.
class ticket_call final : public kdc_call {
public:
    ticket_call(std::shared_ptr<const sasl_credentials> whose, std::vector<std::string> names,
                std::weak_ptr<const void> who_asks)
        : hosts(std::move(names)), credentials_(std::move(whose)), asker_(std::move(who_asks))
    {
    }

    [[nodiscard]] bool wanted() const noexcept override { return !asker_.expired(); }
    void run() noexcept override;

    const std::vector<std::string> hosts;
    sasl_start start{};            ///< what came of it, once that is told
    std::atomic<bool> lost{false}; ///< it will not be told

private:
    const std::shared_ptr<const sasl_credentials> credentials_;
    const std::weak_ptr<const void> asker_;
};

/// How the connections of a client identify it by SASL.
struct sasl_login {
    std::shared_ptr<const sasl_credentials> credentials;
    std::shared_ptr<ticket_call> call{};    ///< under way
    std::unique_ptr<mechanism> beginning{}; ///< for the server that is being dialed
    sasl_engine* speaks = nullptr;          ///< the present relay's, as long as its gate is needed
    bool warned = false;                    ///< as the log has told
};

} // namespace zklock::bridge

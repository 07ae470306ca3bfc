#pragma once
#include "bridge/connection/dialer_call.hpp"
#include "bridge/sasl/credentials.hpp"
#include "bridge/sasl/sasl_engine.hpp"

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zklock::bridge {

/// Has the first token made for a server of these names: that may ask a KDC.
class ticket_call final : public dialer_call {
public:
    ticket_call(std::shared_ptr<const sasl_credentials> whose, std::vector<std::string> names,
                std::weak_ptr<dialer> asker)
        : dialer_call(std::move(asker)), hosts(std::move(names)), credentials_(std::move(whose))
    {
    }

    void run() noexcept override;
    void fail(const char* why) { start = {nullptr, why}; }

    const std::vector<std::string> hosts;
    sasl_start start{}; ///< what came of it, once that is told

private:
    const std::shared_ptr<const sasl_credentials> credentials_;
};

/// How the connections of a client identify it by SASL.
struct sasl_login {
    std::shared_ptr<const sasl_credentials> credentials;
    std::shared_ptr<ticket_call> call{};    ///< under way
    std::unique_ptr<mechanism> beginning{}; ///< for the server that is being dialed
    bool warned = false;                    ///< as the log has told
};

} // namespace zklock::bridge

// How a dialer identifies the client by SASL. What begins the exchange is made before the server is dialed, because
// it may come from a KDC. The exchange itself passes through the relay, behind whose gate the C client waits for its
// session. Where nothing is encrypted, the C client is given the server's socket itself then.
#include "bridge/connection/dialer.hpp"
#include "bridge/connection/dialer_call.hpp"
#include "bridge/sasl/credentials.hpp"
#include "bridge/sasl/kdc_calls.hpp"
#include "bridge/sasl/sasl_engine.hpp"
#include "bridge/wire/readiness.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace zklock::bridge {

namespace {

/// The names by which the user calls a server, from that one on.
std::vector<std::string> names_of(const server_address& server, const host_port& first)
{
    std::vector<std::string> names;
    for (const host_port& each : server.given) {
        std::string host = each.host;
        while (!each.numeric && host.ends_with('.'))
            host.pop_back();
        if (std::ranges::find(names, host) != names.end())
            continue;
        names.insert(each == first ? names.begin() : names.end(), std::move(host));
    }
    return names;
}

} // namespace

/// Has the first token made for a server of these names: that may ask a KDC.
class ticket_call final : public dialer_call {
public:
    ticket_call(std::shared_ptr<const sasl_credentials> whose, std::vector<std::string> names,
                std::weak_ptr<dialer> asker)
        : dialer_call(std::move(asker)), hosts(std::move(names)), credentials_(std::move(whose))
    {
    }

    void run() noexcept override
    {
        try {
            const stops_with_process here;
            start = start_sasl(*credentials_, hosts);
        } catch (...) { // std::bad_alloc
            start = {};
        }
    }
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

auto dialer::login_of(const client_options& options) -> owned_login
{
    if (options.sasl.mechanism == sasl_mechanism::off)
        return {nullptr, nullptr};
    auto made = std::make_unique<sasl_login>(sasl_login{std::make_shared<const sasl_credentials>(options.sasl)});
    return {made.release(), [](sasl_login* each) { delete each; }};
}

/// An attempt may be over before a KDC has answered. The tickets serve a later one then.
void dialer::identify()
{
    drop_socket();
    login_->beginning.reset();
    const bool exposed = options_.sasl.mechanism == sasl_mechanism::digest_md5 && !options_.tls.enabled;
    if (exposed && !std::exchange(login_->warned, true))
        wire_.log()(log_level::warning, "DIGEST-MD5 without TLS: who listens on the network can find out weak "
                                        "passwords, and change what is said");
    auto hosts = names_of(connector_.address(), connector_.name());
    if (!login_->credentials->may_block()) {
        identified(start_sasl(*login_->credentials, hosts));
        return;
    }
    wire_.asks_kdc();
    if (login_->call && !login_->call->lost)
        return;
    login_->call = std::make_shared<ticket_call>(login_->credentials, std::move(hosts), weak());
    begin_call<kdc_calls>(*strand_, login_->call, &dialer::kdc_answered);
}

void dialer::kdc_answered(ticket_call& call)
{
    if (!login_ || login_->call.get() != &call) // none is left in a forked process
        return;
    owner_.go_on_with_attempt([&] {
        const auto ended = std::exchange(login_->call, nullptr);
        if (!wire_.waits_for_kdc())
            return;
        if (ended->hosts == names_of(connector_.address(), connector_.name()))
            identified(std::move(ended->start));
        else // it was asked for the server of an earlier attempt
            identify();
    });
}

/// What begins the exchange is there, or cannot be had.
void dialer::identified(sasl_start start)
{
    if (start.made) {
        login_->beginning = std::move(start.made);
        wire_.dials();
        dial();
        return;
    }
    wire_.sasl_failed(start.why.empty() ? "there was no memory for it" : std::string_view(start.why));
    owner_.wire_changed();
}

std::unique_ptr<engine> dialer::gated(std::unique_ptr<engine> tls)
{
    if (!login_)
        return tls;
    auto made = std::make_unique<sasl_engine>(std::move(login_->beginning), std::move(tls));
    speaks_ = made.get();
    return made;
}

/// False if the exchange has failed, and with it the attempt: the caller then tells the connector.
bool dialer::follow_gate()
{
    if (!speaks_)
        return true;
    const sasl_gate& gate = speaks_->gate();
    switch (gate.now_in()) {
    case sasl_gate::state::asking: break;
    case sasl_gate::state::authenticating:
        if (wire_.is_authenticating())
            break;
        wire_.authenticates();
        // The servers count from the request on, and nothing that is said here counts for them.
        connector_.attempt_ends_by(connector::clock::now() + *gate.granted() * 2 / 3 - (lease_clock::now() - began_));
        break;
    case sasl_gate::state::failed:
        if (gate.failed_by() == sasl_failure::refused)
            wire_.sasl_refused(gate.failure());
        else
            wire_.sasl_failed(gate.failure());
        return false;
    case sasl_gate::state::open:
        if (!wire_.is_authenticating() || !gate.authenticated())
            break;
        if (connector::clock::now() >= connector_.due().value_or(connector::clock::time_point::max())) {
            wire_.end_attempt();
            return false;
        }
        wire_.has_authenticated(login_->credentials->mechanism_name());
        break;
    }
    return true;
}

/// With TLS the relay stays. Without, it leaves, too, once nothing is on its way between the C client and the server:
/// so nobody notices.
void dialer::leave_gate(bool held_back)
{
    if (!speaks_ || !speaks_->may_leave() || !wire_.is_connected())
        return;
    if (options_.tls.enabled) {
        socket_.relay()->go_on_with(speaks_->leave());
        speaks_ = nullptr;
        return;
    }
    if (held_back || !socket_.relay()->is_empty() || is_ready(wire_.descriptor(), POLLIN) ||
        !wire_.go_on_with(socket_.descriptor()))
        return;
    speaks_ = nullptr;
    socket_.drop_relay();
}

void dialer::leave_login_to_parent() noexcept
{
    (void)login_.release(); // NOLINT: another thread of the parent may have had a lock of Kerberos's
}

} // namespace zklock::bridge

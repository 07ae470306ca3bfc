// How a connection identifies the client by SASL. What begins the exchange is made before the server is dialed, because
// it may come from a KDC. The exchange itself passes through the relay, behind whose gate the C client waits for its
// session. Where nothing is encrypted, the C client is given the server's socket itself then.
#include "bridge/connection/connection.hpp"
#include "bridge/connection/sasl_login.hpp"
#include "bridge/wire/log_lines.hpp"
#include "bridge/wire/readiness.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <utility>

namespace zklock::bridge {

namespace asio = boost::asio;

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

void ticket_call::run() noexcept
{
    try {
        start = start_sasl(*credentials_, hosts);
    } catch (...) { // std::bad_alloc
        start = {};
    }
}

auto connection::login_of(const client_options& options) -> owned_login
{
    if (options.sasl.mechanism == sasl_mechanism::off)
        return {nullptr, nullptr};
    sasl_options own = options.sasl;
    auto made = std::make_unique<sasl_login>(sasl_login{std::make_shared<const sasl_credentials>(own)});
    return {made.release(), [](sasl_login* each) { delete each; }};
}

/// An attempt may be over before a KDC has answered. The tickets serve a later one then.
void connection::identify()
{
    drop_socket();
    login_->beginning.reset();
    const bool exposed = options_.sasl.mechanism == sasl_mechanism::digest_md5 && !options_.tls.enabled;
    if (exposed && !std::exchange(login_->warned, true))
        push_line(inbox_, log_, log_level::warning, "DIGEST-MD5 without TLS: who listens on the network can find out "
                  "weak passwords, and change what is said");
    auto hosts = names_of(connector_.address(), connector_.name());
    if (!login_->credentials->may_block()) {
        identified(start_sasl(*login_->credentials, hosts));
        return;
    }
    wire_.asks_kdc();
    if (login_->call && !login_->call->lost)
        return;
    auto call = std::make_shared<ticket_call>(login_->credentials, std::move(hosts), weak_from_this());
    login_->call = call;
    auto told = [call, strand = io_->strand, weak = weak_from_this()](const char* why_not) {
        try {
            if (why_not)
                call->start = {nullptr, why_not};
            asio::post(strand, [call, weak] {
                if (const auto asker = weak.lock())
                    asker->kdc_answered(*call);
            });
        } catch (...) { // the next attempt asks again
            call->lost = true;
        }
    };
    asio::use_service<kdc_calls>(asio::query(io_->strand, asio::execution::context)).begin(call, std::move(told));
}

void connection::kdc_answered(ticket_call& call)
{
    if (!io_ || login_->call.get() != &call || wire_.is_forked())
        return;
    turns_->run([&] {
        const auto ended = std::exchange(login_->call, nullptr);
        if (!wire_.waits_for_kdc())
            return;
        if (ended->hosts == names_of(connector_.address(), connector_.name()))
            identified(std::move(ended->start));
        else // it was asked for the server of an earlier attempt
            identify();
        deliver();
    });
}

/// What begins the exchange is there, or cannot be had.
void connection::identified(sasl_start start)
{
    if (start.made) {
        login_->beginning = std::move(start.made);
        wire_.dials();
        dial();
        return;
    }
    wire_.sasl_failed(start.why.empty() ? "there was no memory for it" : std::string_view(start.why));
    follow_wire();
}

std::unique_ptr<engine> connection::gated(std::unique_ptr<engine> tls)
{
    if (!login_)
        return tls;
    auto made = std::make_unique<sasl_engine>(std::move(login_->beginning), std::move(tls));
    login_->speaks = made.get();
    return made;
}

bool connection::has_gate() const noexcept { return login_ && login_->speaks; }

/// False if the exchange has failed, and with it the attempt: the caller then tells the connector.
bool connection::follow_gate()
{
    const sasl_gate& gate = login_->speaks->gate();
    switch (gate.now_in()) {
    case sasl_gate::state::asking: break;
    case sasl_gate::state::authenticating:
        if (wire_.is_authenticating())
            break;
        wire_.authenticates();
        // The servers count from the request on, and nothing that is said here counts for them.
        connector_.attempt_ends_by(clock::now() + *gate.granted() * 2 / 3 - (lease_clock::now() - attempt_began_));
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
        if (clock::now() >= connector_.due().value_or(clock::time_point::max())) {
            wire_.give_up();
            return false;
        }
        wire_.has_authenticated(login_->credentials->mechanism_name());
        break;
    }
    return true;
}

/// Nothing is on its way between the C client and the server any more: so nobody notices. With TLS the relay stays, and
/// the gate is looked at no more.
void connection::leave_gate()
{
    if (options_.tls.enabled) {
        if (login_->speaks->gate().is_empty() && wire_.is_connected())
            forget_gate();
        return;
    }
    if (held_back_ || !login_->speaks->may_leave() || !wire_.is_connected() || !io_->relay->is_empty() ||
        is_ready(wire_.descriptor(), POLLIN) || !wire_.go_on_with(socket_.descriptor()))
        return;
    forget_gate();
    io_->relay.reset();
}

void connection::forget_gate() noexcept
{
    if (login_)
        login_->speaks = nullptr;
}

void connection::leave_login_to_parent() noexcept
{
    (void)login_.release(); // NOLINT: another thread of the parent may have had a lock of Kerberos's
}

} // namespace zklock::bridge

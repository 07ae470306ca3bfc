#include "bridge/connection/dialer.hpp"

#include <utility>

namespace zklock::bridge {

dialer::dialer(owner& whose, const client_options& options, const runtime::strand& strand, connector& c, wire& w,
               server_socket& socket)
    : owner_(whose), options_(options), strand_(strand), connector_(c), wire_(w), socket_(socket)
{
#ifdef ZKLOCK_WITH_SASL
    login_ = login_of(options_);
#endif
}

void dialer::attempt(session_question asks)
{
    wire_.begin(connector_.address().text, asks);
    wire_.believe_expiry(connector_.believes_expiry(connector::moment::now()));
#ifdef ZKLOCK_WITH_TLS
    if (options_.tls.enabled)
        return load_tls_files();
#endif
    introduce();
}

/// All that TLS needs is there: so is what SASL needs, when the server is dialed.
void dialer::introduce()
{
#ifdef ZKLOCK_WITH_SASL
    if (login_)
        return identify();
#endif
    dial();
}

/// Makes the TCP connection that the wire is to have.
void dialer::dial()
{
    drop_socket();
    const error_code ec = socket_.connect(*strand_, connector_.address(), [this](const error_code& outcome) {
        owner_.go_on_with_attempt([&] { dialed(outcome); });
    });
    if (ec)
        dialed(ec);
}

void dialer::dialed(const error_code& ec)
{
    if (!wire_.is_dialing())
        return; // it has had its time
    if (ec) {
        wire_.unreached(ec);
        owner_.wire_changed();
    } else {
        if (auto own = socket_.local_address())
            local_address_ = std::move(own);
#ifdef ZKLOCK_WITH_TLS
        if (options_.tls.enabled || login_)
            put_relay_between();
        else
#endif
            connected_by(socket_.descriptor());
    }
}

/// The library goes on with that socket.
void dialer::connected_by(int socket)
{
    began_ = lease_clock::now();
    static_cast<void>(wire_.connect(socket));
    owner_.wire_changed();
}

void dialer::drop_socket()
{
    speaks_ = nullptr;
    socket_.drop();
}

void dialer::stop() noexcept
{
    load_.reset();
    strand_.reset();
}

void dialer::leave_to_parent(bool told_of_fork)
{
#ifdef ZKLOCK_WITH_SASL
    leave_login_to_parent();
#endif
    socket_.leave_to_parent(told_of_fork);
    drop_socket();
}

} // namespace zklock::bridge

// How a dialer agrees on TLS with the server, before the C client is given its end of a pair of sockets in place of
// a connection: first the files are read, then the server is dialed, then the two ends shake hands. Where there is SASL
// only, there is nothing to agree on before.
#include "bridge/connection/dialer.hpp"
#include "bridge/connection/dialer_call.hpp"
#include "bridge/names/blocking_calls.hpp"
#include "bridge/tls/engine.hpp"

#include <cerrno>
#include <memory>
#include <utility>

namespace zklock::bridge {

/// The files are read, unless they are as they were the last time.
class tls_load final : public dialer_call {
public:
    tls_load(const tls_options& options, std::shared_ptr<const tls_context> before, std::weak_ptr<dialer> asker)
        : dialer_call(std::move(asker)), options_(options), before_(std::move(before))
    {
    }

    void run() noexcept override
    {
        try {
            found = load_tls(options_, before_);
        } catch (...) { // what was read before stays in use
            found.context = before_;
        }
    }
    void fail(const char* why) { found = {before_, why}; }

    tls_loaded found;

private:
    const tls_options options_;
    const std::shared_ptr<const tls_context> before_;
};

/// An attempt may be over before its files are read. They serve the next one then.
void dialer::load_tls_files()
{
    drop_socket();
    if (options_.tls.context) { // nothing is to be read
        if (!tls_)
            tls_ = std::make_shared<const tls_context>(options_.tls.context);
        introduce();
        return;
    }
    if (load_ && !load_->lost)
        return;
    auto load = std::make_shared<tls_load>(options_.tls, tls_, weak());
    begin_call<blocking_calls>(*strand_, load, &dialer::tls_files_loaded);
    load_ = std::move(load); // not if that has thrown
}

void dialer::tls_files_loaded(tls_load& load)
{
    if (load_.get() != &load)
        return;
    owner_.go_on_with_attempt([&] {
        const auto ended = std::exchange(load_, nullptr);
        tls_ = std::move(load.found.context);
        if (tls_ && !load.found.why.empty())
            wire_.log()(log_level::warning, "TLS: ", load.found.why);
        if (wire_.is_dialing() && tls_) {
            introduce();
        } else if (wire_.is_dialing()) {
            wire_.tls_failed(load.found.why.empty() ? "there was no memory for its files" : load.found.why);
            owner_.wire_changed();
        }
    });
}

/// There is a TCP connection.
void dialer::put_relay_between()
{
    std::unique_ptr<engine> speaks;
    if (options_.tls.enabled) {
        const host_port& name = connector_.name();
        speaks = std::make_unique<tls_engine>(tls_, server_name{name.host, name.numeric});
        wire_.tls_begins();
    }
#ifdef ZKLOCK_WITH_SASL
    speaks = gated(std::move(speaks));
#endif
    socket_.put_between(std::move(speaks));
    shake_hands();
}

void dialer::shake_hands()
{
    pair_relay& relay = *socket_.relay();
    switch (relay.shake_hands(socket_.descriptor())) {
    case pair_relay::state::handshaking: socket_.await(relay.holds_output()); return;
    case pair_relay::state::ended: try_next_name(); return;
    case pair_relay::state::open: break;
    }
    const int end = relay.open_pair();
    if (end == -1)
        return dialed({errno, boost::system::system_category()});
    connected_by(end);
    if (socket_.relay())
        socket_.relay()->close_clients_end();
}

/// Where several names lead to an address, a certificate for one of them is enough.
void dialer::try_next_name()
{
    const std::string& why = socket_.relay()->why();
    if (connector_.try_next_name()) {
        wire_.log()(log_level::info, "no TLS with ", connector_.address().text, ": ", why,
                    "; it is tried by another of its names");
        introduce();
        return;
    }
    wire_.tls_failed(why);
    owner_.wire_changed();
}

} // namespace zklock::bridge

// How a dialer agrees on TLS with the server, before the C client is given its end of a pair of sockets in place of
// a connection: first the files are read, then the server is dialed, then the two ends shake hands. Where there is SASL
// only, there is nothing to agree on before.
#include "bridge/connection/dialer.hpp"
#include "bridge/names/blocking_calls.hpp"
#include "bridge/tls/engine.hpp"

#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/query.hpp>

#include <atomic>
#include <cerrno>
#include <memory>
#include <utility>

namespace zklock::bridge {

namespace asio = boost::asio;

/// The files are read, unless they are as they were the last time.
class tls_load final : public errand, public std::enable_shared_from_this<tls_load> {
public:
    using told = void (dialer::*)(tls_load&);

    tls_load(const tls_options& options, std::shared_ptr<const tls_context> before, const runtime::strand& strand,
             std::weak_ptr<dialer> asker, told done)
        : options_(options), before_(std::move(before)), strand_(strand), asker_(std::move(asker)), done_(done)
    {
    }

    [[nodiscard]] bool wanted() const noexcept override { return !asker_.expired(); }
    void run() noexcept override
    {
        try {
            found = load_tls(options_, before_);
        } catch (...) { // what was read before stays in use
            found.context = before_;
        }
    }
    /// If it cannot be told, the attempt ends when its time is over, and the next one reads the files.
    void tell(const char* why_not) noexcept override
    {
        try {
            if (why_not)
                found = {before_, why_not};
            asio::post(strand_, [self = shared_from_this()] {
                if (const auto asker = self->asker_.lock())
                    ((*asker).*self->done_)(*self);
            });
        } catch (...) {
            lost = true;
        }
    }

    tls_loaded found;
    std::atomic<bool> lost{false}; ///< it will not be told

private:
    const tls_options options_;
    const std::shared_ptr<const tls_context> before_;
    const runtime::strand strand_;
    const std::weak_ptr<dialer> asker_;
    const told done_;
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
    auto load = std::make_shared<tls_load>(options_.tls, tls_, *strand_, weak(), &dialer::tls_files_loaded);
    asio::use_service<blocking_calls>(asio::query(*strand_, asio::execution::context)).begin(load);
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
            tls_failed(load.found.why.empty() ? "there was no memory for its files" : load.found.why);
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
    if (end == -1) {
        wire_.unreached({errno, boost::system::system_category()});
        owner_.wire_changed();
        return;
    }
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
    tls_failed(why);
    owner_.wire_changed();
}

} // namespace zklock::bridge

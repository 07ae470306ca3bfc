#include "bridge/sasl/sasl_engine.hpp"

#include <algorithm>
#include <array>
#include <new>

namespace zklock::bridge {

namespace {

std::string_view text_of(std::span<const char> bytes) noexcept
{
    return {bytes.data(), bytes.size()};
}

} // namespace

sasl_engine::sasl_engine(std::unique_ptr<mechanism> by, std::unique_ptr<engine> tls)
    : gate_(std::move(by)), tls_(std::move(tls))
{
}

/// Whatever the gate has for the server after a change goes into TLS at once, where there is TLS.
template <class Change> void sasl_engine::change(Change make) noexcept
{
    try {
        make();
        if (const auto out = gate_.to_server(); tls_ && !out.empty()) {
            static_cast<void>(tls_->write(out)); // if it has ended, so has this
            gate_.sent_to_server(out.size());
        }
    } catch (const std::bad_alloc&) { // NOLINT: why_ has no memory either
        without_tls_ = state::failed;
    }
}

auto sasl_engine::now_in() const noexcept -> state
{
    if (gate_.now_in() == sasl_gate::state::failed || without_tls_ == state::failed)
        return state::failed;
    return tls_ ? tls_->now_in() : without_tls_;
}

auto sasl_engine::advance() noexcept -> state
{
    if (tls_)
        tls_->advance();
    return now_in();
}

void sasl_engine::put(std::span<const char> came) noexcept
{
    if (tls_)
        tls_->put(came);
    else
        change([&] { gate_.from_server(text_of(came)); });
}

void sasl_engine::no_more(std::string_view why) noexcept
{
    if (tls_)
        tls_->no_more(why);
    else if (without_tls_ == state::open)
        without_tls_ = why.empty() ? state::ended : state::failed;
    change([&] {
        if (!tls_)
            why_ = why;
        gate_.server_ended();
    });
}

std::span<const char> sasl_engine::pending() const noexcept
{
    return tls_ ? tls_->pending() : gate_.to_server();
}

void sasl_engine::sent(std::size_t count) noexcept
{
    if (tls_)
        tls_->sent(count);
    else
        gate_.sent_to_server(count);
}

bool sasl_engine::write(std::span<const char> plain) noexcept
{
    if (now_in() != state::open)
        return false;
    change([&] { gate_.from_client(text_of(plain)); });
    return now_in() == state::open;
}

std::size_t sasl_engine::read(std::span<char> plain) noexcept
{
    if (tls_)
        bring_from_tls();
    const auto out = gate_.to_client();
    const std::size_t taken = std::min(out.size(), plain.size());
    std::copy_n(out.begin(), taken, plain.begin());
    gate_.sent_to_client(taken);
    heard_ = heard_ || taken != 0;
    return taken;
}

/// Until the gate has something for the client, or TLS has nothing more.
void sasl_engine::bring_from_tls() noexcept
{
    std::array<char, 16 * 1024> came;
    while (gate_.to_client().empty() && now_in() == state::open)
        if (const auto got = tls_->read(came); got != 0)
            change([&] { gate_.from_server({came.data(), got}); });
        else
            break;
    if (tls_->now_in() != state::open && tls_->now_in() != state::handshaking)
        change([&] { gate_.server_ended(); });
}

void sasl_engine::shut_down() noexcept
{
    if (tls_)
        tls_->shut_down();
}

const std::string& sasl_engine::failure() const noexcept
{
    if (gate_.now_in() == sasl_gate::state::failed)
        return gate_.failure();
    return tls_ ? tls_->failure() : why_;
}

} // namespace zklock::bridge

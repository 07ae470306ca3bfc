// The gate as the engine of a connection, over TLS and without: it leaves once it is open.
#include "bridge/sasl/sasl_engine.hpp"
#include "bridge/wire/pair_relay.hpp"
#include "sasl/gate_scene.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include <sys/socket.h>

using namespace zklock::test;
using bridge::sasl_engine;
using bridge::sasl_step;

namespace {

/// Encrypts nothing.
class transparent_engine final : public bridge::engine {
public:
    [[nodiscard]] state now_in() const noexcept override { return ended ? state::ended : state::open; }
    state advance() noexcept override { return now_in(); }
    void put(std::span<const char> bytes) noexcept override { came.append(bytes.data(), bytes.size()); }
    void no_more(std::string_view) noexcept override { ended = true; }
    [[nodiscard]] std::span<const char> pending() const noexcept override { return out; }
    void sent(std::size_t count) noexcept override { out.erase(0, count); }
    bool write(std::span<const char> plain) noexcept override
    {
        out.append(plain.data(), plain.size());
        return !ended;
    }
    std::size_t read(std::span<char> plain) noexcept override
    {
        const auto count = came.copy(plain.data(), plain.size());
        came.erase(0, count);
        return count;
    }
    void shut_down() noexcept override {}
    [[nodiscard]] const std::string& failure() const noexcept override { return why; }
    [[nodiscard]] bool heard() const noexcept override { return true; }

    std::string came, out, why;
    bool ended = false;
};

void put(bridge::engine& to, const std::string& text)
{
    to.put(text);
}

std::string take_pending(bridge::engine& from)
{
    const auto out = from.pending();
    std::string text(out.begin(), out.end());
    from.sent(text.size());
    return text;
}

std::string read_all(bridge::engine& from)
{
    std::array<char, 7> piece{};
    std::string all;
    while (const auto count = from.read(piece))
        all.append(piece.data(), count);
    return all;
}

std::unique_ptr<bridge::mechanism> two_steps()
{
    return std::make_unique<scripted_mechanism>(
        std::vector<sasl_step>{{sasl_step::kind::token, "second"}, {sasl_step::kind::done}});
}

/// Both have proved who they are, and the client has its session.
void authenticate(sasl_engine& engine)
{
    CHECK(engine.write(session_request()));
    CHECK(take_pending(engine) == session_request());
    put(engine, session_response(4'000));
    CHECK(read_all(engine).empty());
    CHECK(take_pending(engine) == sasl_request("first"));
    put(engine, sasl_answer("challenge"));
    CHECK(read_all(engine).empty());
    CHECK(take_pending(engine) == sasl_request("second"));
    CHECK(engine.write(std::string("a request")));
    CHECK(engine.pending().empty());
    CHECK_FALSE(engine.may_leave());
    put(engine, sasl_answer("proof"));
    CHECK(read_all(engine) == session_response(4'000));
    CHECK(take_pending(engine) == "a request");
}

} // namespace

TEST_CASE("SASL over TLS: once both are known, the gate leaves: no byte passes it, and none is lost")
{
    auto owned = std::make_unique<transparent_engine>();
    const auto* const tls = owned.get();
    auto first = std::make_unique<sasl_engine>(two_steps(), std::move(owned));
    auto& gated = *first;
    authenticate(gated);
    CHECK(gated.write(std::string("not sent yet, ")));
    put(gated, "not read yet, ");
    CHECK(gated.may_leave());

    bridge::pair_relay relay(std::move(first));
    auto alone = gated.leave();
    CHECK(alone.get() == tls);
    relay.go_on_with(std::move(alone)); // and the gate is gone
    std::array<int, 2> connection{};
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, connection.data()) == 0);
    const auto [server, own] = connection;
    const int client = ::dup(relay.open_pair());
    relay.close_clients_end();
    CHECK(::send(client, "a request", 9, 0) == 9);
    CHECK(::send(server, "an answer", 9, 0) == 9);
    relay.bring_out(own);
    relay.bring_in(own);
    std::array<char, 64> came{};
    CHECK(::recv(server, came.data(), came.size(), 0) == 23);
    CHECK(std::string(came.data(), 23) == "not sent yet, a request");
    CHECK(::recv(client, came.data(), came.size(), 0) == 23);
    CHECK(std::string(came.data(), 23) == "not read yet, an answer");
    for (const int each : {server, own, client})
        ::close(each);
}

TEST_CASE("SASL without TLS: the gate may leave when it keeps nothing for either")
{
    sasl_engine engine(two_steps(), nullptr);
    authenticate(engine);
    CHECK(engine.may_leave());
    CHECK(engine.write(std::string("x")));
    CHECK_FALSE(engine.may_leave());
    CHECK(take_pending(engine) == "x");
    put(engine, "yz");
    CHECK_FALSE(engine.may_leave());
    CHECK(read_all(engine) == "yz");
    CHECK(engine.may_leave());
}

TEST_CASE("SASL over TLS: a server that hangs up in the exchange, at each byte of it")
{
    const std::string said = session_response(4'000) + sasl_answer("challenge");
    for (std::size_t cut = 0; cut < said.size(); ++cut) {
        CAPTURE(cut);
        sasl_engine engine(two_steps(), std::make_unique<transparent_engine>());
        CHECK(engine.write(session_request()));
        put(engine, said.substr(0, cut));
        CHECK(read_all(engine) == "");
        engine.no_more({});
        const bool granted = cut >= session_response(4'000).size();
        CHECK(engine.now_in() == (granted ? bridge::engine::state::failed : bridge::engine::state::ended));
        CHECK(read_all(engine) == (granted ? std::string() : said.substr(0, cut)));
    }
}

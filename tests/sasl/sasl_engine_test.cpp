// The gate as the engine of a connection: what it costs over TLS once it is open, and when it may leave without.
#include "bridge/sasl/sasl_engine.hpp"
#include "sasl/gate_scene.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using namespace zklock;
using namespace zklock::test;
using bridge::sasl_engine;
using bridge::sasl_step;

namespace {

/// Encrypts nothing, and notes which memory it was given.
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
        last_written = plain.data();
        out.append(plain.data(), plain.size());
        return !ended;
    }
    std::size_t read(std::span<char> plain) noexcept override
    {
        last_read = plain.data();
        const auto count = came.copy(plain.data(), plain.size());
        came.erase(0, count);
        return count;
    }
    void shut_down() noexcept override {}
    [[nodiscard]] const std::string& failure() const noexcept override { return why; }
    [[nodiscard]] bool heard() const noexcept override { return true; }

    std::string came, out, why;
    const char* last_written = nullptr;
    const char* last_read = nullptr;
    bool ended = false;
};

void put(bridge::engine& to, const std::string& text) { to.put(text); }

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

TEST_CASE("SASL over TLS: once both are known, nothing is copied but by TLS")
{
    auto owned = std::make_unique<transparent_engine>();
    auto& tls = *owned;
    sasl_engine engine(two_steps(), std::move(owned));
    authenticate(engine);
    CHECK_FALSE(engine.may_leave()); // TLS stays
    const std::string request = "a longer request";
    CHECK(engine.write(request));
    CHECK(tls.last_written == request.data());
    CHECK(take_pending(engine) == request);
    put(engine, "its answer");
    std::array<char, 64> buffer{};
    CHECK(engine.read(buffer) == 10);
    CHECK(tls.last_read == buffer.data());
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

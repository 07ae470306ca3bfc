// What a server may say to the gate of a connection, and what the C client writes meanwhile, in pieces as the input
// says. It is played once more, byte by byte: the pieces must not matter.
#include "bridge/sasl/digest_md5.hpp"
#include "bridge/sasl/gate.hpp"
#include "input.hpp"

#include <vector>

using namespace zklock;
using namespace zklock::bridge;
using fuzz::require;
using state = sasl_gate::state;

namespace {

/// Goes by what the server says: its first byte tells what comes of it.
class led_mechanism final : public mechanism {
public:
    [[nodiscard]] const std::string& first() const noexcept override { return first_; }
    [[nodiscard]] sasl_step step(std::string_view challenge) override
    {
        switch (challenge.empty() ? 'd' : challenge.front()) {
        case 'd': return {sasl_step::kind::done};
        case 'f': return failed_step(sasl_failure::unproved, "f");
        default: return {sasl_step::kind::token, std::string(challenge)};
        }
    }
    [[nodiscard]] sasl_step refused() override { return failed_step(sasl_failure::refused, "r"); }

private:
    const std::string first_ = "first";
};

struct piece {
    bool of_server;
    std::string bytes;
};

std::vector<piece> read_pieces(fuzz::input& in)
{
    std::vector<piece> all;
    while (!in.empty()) {
        const auto kind = in.byte();
        piece next{(kind & 3) != 0, {}};
        for (auto left = static_cast<std::size_t>(kind >> 2) + 1; left != 0 && !in.empty(); --left)
            next.bytes += static_cast<char>(in.byte());
        all.push_back(std::move(next));
    }
    return all;
}

/// What came of it.
struct outcome {
    std::string to_server, to_client, why;
    state last = state::asking;
    bool authenticated = false;
};

outcome play(const std::vector<piece>& pieces, bool by_bytes, bool digest)
{
    std::unique_ptr<mechanism> by = std::make_unique<led_mechanism>();
    if (digest)
        by = std::make_unique<digest_md5>("bob", "p\xc3\xa4ss", digest_md5::particulars{"zookeeper/zk-sasl-md5", "cn"});
    sasl_gate gate(std::move(by));
    outcome made;
    std::string client, server; // what they have said
    const auto give = [&](const piece& from, std::string_view bytes) {
        const bool was_open = gate.now_in() == state::open;
        (from.of_server ? server : client) += bytes;
        if (from.of_server)
            gate.from_server(bytes);
        else
            gate.from_client(bytes);
        const bool open = gate.now_in() == state::open;
        require(open || !was_open, "an open gate stays open");
        require(open || gate.to_client().empty(), "the client gets nothing before the gate is open");
        require((gate.now_in() == state::failed) == !gate.failure().empty(), "a failure has words");
        require(gate.now_in() != state::authenticating || gate.granted(), "a session was granted");
        made.to_server.append(gate.to_server().begin(), gate.to_server().end());
        made.to_client.append(gate.to_client().begin(), gate.to_client().end());
        gate.sent_to_server(gate.to_server().size());
        gate.sent_to_client(gate.to_client().size());
        if (open && !gate.authenticated()) {
            require(made.to_client == server, "all that the server said passes");
            require(made.to_server == client, "all that the client said passes");
        } else if (open) {
            require(server.ends_with(made.to_client.substr(4 + static_cast<unsigned char>(made.to_client[3]))),
                    "the last that the server said passes");
            require(server.starts_with(made.to_client.substr(0, 40)), "the client gets the server's response");
        } else if (gate.now_in() == state::asking) {
            require(client.starts_with(made.to_server), "nothing is sent that the client has not said");
        }
    };
    for (const piece& each : pieces)
        if (by_bytes)
            for (const char& c : each.bytes)
                give(each, {&c, 1});
        else
            give(each, each.bytes);
    gate.server_ended();
    made.to_client.append(gate.to_client().begin(), gate.to_client().end());
    made.last = gate.now_in();
    made.authenticated = gate.authenticated();
    made.why = gate.failure();
    require(made.last == state::open || made.last == state::failed, "a server that hangs up ends the exchange");
    require(made.last == state::open || made.to_client.empty(), "where the gate has failed, the client gets nothing");
    return made;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    const bool digest = (in.byte() & 1) != 0;
    const auto pieces = read_pieces(in);
    const outcome whole = play(pieces, false, digest), bytewise = play(pieces, true, digest);
    require(whole.last == bytewise.last && whole.why == bytewise.why, "the pieces do not matter");
    require(whole.to_client == bytewise.to_client, "nor for the client");
    require(whole.last != state::open || whole.to_server == bytewise.to_server, "nor for the server");
    return 0;
}

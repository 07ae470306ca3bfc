// The gate between the C client and a server, without either.
#include "sasl/gate_scene.hpp"

#include <doctest/doctest.h>

using namespace zklock::test;
using bridge::sasl_failure;
using bridge::sasl_gate;
using bridge::sasl_step;
using state = sasl_gate::state;

namespace {

/// The gate is where the mechanism's first token is out.
std::unique_ptr<sasl_gate> begun(std::vector<sasl_step> steps)
{
    auto gate = std::make_unique<sasl_gate>(std::make_unique<scripted_mechanism>(std::move(steps)));
    gate->from_client(session_request());
    CHECK(take_to_server(*gate) == session_request());
    gate->from_server(session_response(4'000));
    CHECK(take_to_server(*gate) == sasl_request("first"));
    return gate;
}

} // namespace

TEST_CASE("gate: nothing of the client travels, and it gets nothing, before the identity stands")
{
    sasl_gate gate(std::make_unique<scripted_mechanism>(
        std::vector<sasl_step>{{sasl_step::kind::token, "second"}, {sasl_step::kind::done}}));
    gate.from_client(session_request() + "what the client says later");
    CHECK(take_to_server(gate) == session_request());
    CHECK(gate.now_in() == state::asking);
    CHECK_FALSE(gate.granted());

    gate.from_server(session_response(4'000));
    CHECK(gate.now_in() == state::authenticating);
    CHECK(gate.granted() == std::chrono::milliseconds(4'000));
    CHECK(take_to_server(gate) == sasl_request("first"));
    gate.from_client(", and after that");
    gate.from_server(sasl_answer("challenge"));
    CHECK(take_to_server(gate) == sasl_request("second"));
    CHECK(gate.to_client().empty());

    gate.from_server(sasl_answer("proof") + "and more");
    CHECK(gate.now_in() == state::open);
    CHECK(gate.authenticated());
    CHECK_FALSE(gate.is_empty());
    CHECK(take_to_client(gate) == session_response(4'000) + "and more");
    CHECK(take_to_server(gate) == "what the client says later, and after that");
    CHECK(gate.is_empty());

    gate.from_client("x");
    gate.from_server("yz");
    gate.sent_to_client(1);
    CHECK(take_to_client(gate) == "z");
    CHECK(take_to_server(gate) == "x");
}

TEST_CASE("gate: byte by byte it is the same")
{
    sasl_gate gate(std::make_unique<scripted_mechanism>(
        std::vector<sasl_step>{{sasl_step::kind::token, ""}, {sasl_step::kind::done}}));
    for (const char c : session_request())
        gate.from_client({&c, 1});
    CHECK(take_to_server(gate) == session_request());
    for (const char c : session_response(4'000, false) + sasl_answer("challenge") + sasl_answer_without_buffer())
        gate.from_server({&c, 1});
    CHECK(take_to_server(gate) == sasl_request("first") + sasl_request(""));
    CHECK(gate.authenticated());
    CHECK(take_to_client(gate) == session_response(4'000, false));
}

TEST_CASE("gate: that the session is over, and what no ZooKeeper says, passes at once")
{
    for (const std::string& said :
         {session_response(0), session_response(-1), session_response(0).substr(0, 24), std::string("HTTP/1.1 400"),
          std::string("\x15\x03\x01"), std::string("\0\0\0\x29\0\0\0\0", 8), std::string("\0\0\0\x25\0\0\0\1", 8)}) {
        sasl_gate gate(std::make_unique<scripted_mechanism>(std::vector<sasl_step>{}));
        gate.from_client(session_request());
        take_to_server(gate);
        gate.from_server(said);
        CHECK(gate.now_in() == state::open);
        CHECK_FALSE(gate.authenticated());
        CHECK(take_to_client(gate) == said);
        CHECK(take_to_server(gate).empty());
    }
    sasl_gate gate(std::make_unique<scripted_mechanism>(std::vector<sasl_step>{}));
    gate.from_server(session_response(4'000).substr(0, 30));
    CHECK(gate.now_in() == state::asking);
    gate.server_ended();
    CHECK(gate.now_in() == state::open);
    CHECK(take_to_client(gate) == session_response(4'000).substr(0, 30));
}

TEST_CASE("gate: how an exchange fails")
{
    struct failure {
        std::string said;
        sasl_failure by;
        std::string words;
    };
    for (const failure& f : {
             failure{sasl_error(-115), sasl_failure::refused, "the script refuses (error -115)"},
             {sasl_error(-124), sasl_failure::refused, "the script refuses (error -124)"},
             {sasl_error(-4), sasl_failure::broken, "the server could not go on with it (error -4)"},
             {frame("short"), sasl_failure::broken, "the server has sent what is no answer to SASL, of 5 bytes"},
             {std::string("\0\1\0\1", 4), sasl_failure::broken,
              "the server has sent what is no answer to SASL, of 65537 bytes"},
             {"\xff\xff\xff\xff", sasl_failure::broken,
              "the server has sent what is no answer to SASL, of 4294967295 bytes"},
             {sasl_answer("x", -1), sasl_failure::broken,
              "the server has sent what is no answer to SASL, of the number -1"},
             {sasl_answer_of_length(5, "four"), sasl_failure::broken,
              "the server's answer to SASL is not as long as it says"},
             {sasl_answer_of_length(3, "four"), sasl_failure::broken,
              "the server's answer to SASL is not as long as it says"},
             {sasl_answer_of_length(-2, ""), sasl_failure::broken,
              "the server's answer to SASL is not as long as it says"},
             {sasl_answer_of_length(-1, "four"), sasl_failure::broken,
              "the server's answer to SASL is not as long as it says"},
             {sasl_answer("challenge"), sasl_failure::unproved, "by the script"},
         }) {
        CAPTURE(f.words);
        auto gate = begun({bridge::failed_step(sasl_failure::unproved, "by the script")});
        gate->from_client("what the client has written");
        gate->from_server(f.said);
        CHECK(gate->now_in() == state::failed);
        CHECK(gate->failed_by() == f.by);
        CHECK(gate->failure() == f.words);
        gate->from_server(sasl_answer("too late"));
        gate->from_client("too late");
        CHECK(gate->to_server().empty());
        CHECK(gate->to_client().empty());
        CHECK_FALSE(gate->is_empty());
    }
}

TEST_CASE("gate: a server that hangs up in the exchange, at each byte")
{
    const auto answer = sasl_answer("challenge");
    for (std::size_t cut = 0; cut < answer.size(); ++cut) {
        auto gate = begun({{sasl_step::kind::token, "second"}});
        gate->from_server(answer.substr(0, cut));
        gate->server_ended();
        CHECK(gate->now_in() == state::failed);
        CHECK(gate->failed_by() == sasl_failure::broken);
        CHECK(gate->failure() == "the server has hung up before it was done");
        CHECK(gate->to_client().empty());
    }
}

TEST_CASE("gate: a server that comes to no end, and a client that writes too much")
{
    auto gate = begun(std::vector<sasl_step>(100, {sasl_step::kind::token, "again"}));
    for (unsigned i = 0; i < sasl_gate::most_steps; ++i) {
        gate->from_server(sasl_answer("challenge"));
        CHECK(take_to_server(*gate) == sasl_request("again"));
    }
    gate->from_server(sasl_answer("challenge"));
    CHECK(gate->now_in() == state::failed);
    CHECK(gate->failure() == "the server comes to no end");

    auto kept = begun({});
    kept->from_client(std::string(64 * 1024, 'x'));
    CHECK(kept->now_in() == state::authenticating);
    kept->from_client("x");
    CHECK(kept->now_in() == state::failed);

    sasl_gate asked(std::make_unique<scripted_mechanism>(std::vector<sasl_step>{}));
    asked.from_client(std::string("\0\0\x10\1", 4));
    CHECK(asked.now_in() == state::failed);
    CHECK(asked.failure() == "the C client's request for a session has 4097 bytes");
}

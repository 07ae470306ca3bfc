// sanitizers: none
// Names that lead somewhere else than before, while another ensemble lives at the old address: what it says of the
// session, it says of another one.
#include "integration/bridge_client.hpp"
#include "integration/moved_scene.hpp"
#include "integration/names_scene.hpp"
#include "support/run_until.hpp"

using namespace zklock::test;

namespace {

/// Where the names that end with ".test" lead, or with what error they are answered.
class name_answers {
public:
    void say(const std::string& name, std::string address, int error = 0)
    {
        const std::lock_guard lock(mutex_);
        all_[name] = {std::move(address), error};
    }
    std::pair<std::string, int> of(const std::string& name)
    {
        const std::lock_guard lock(mutex_);
        return all_.at(name);
    }

private:
    std::mutex mutex_;
    std::map<std::string, std::pair<std::string, int>> all_;
} answers;

two_ensembles& ensembles()
{
    static two_ensembles both;
    return both;
}

client_options options_at(const std::string& servers, milliseconds session_timeout)
{
    auto options = options_for(servers, session_timeout);
    options.connect_backoff = options.connect_backoff_limit = 50ms;
    return options;
}

/// A client that a name has led to the old address, where the servers were ours, and that has connected there.
struct named_client {
    explicit named_client(std::string its_name, milliseconds session_timeout = 60'000ms,
                          std::optional<milliseconds> server_tick = std::nullopt)
        : there(ensembles()), name(std::move(its_name)), c(options(session_timeout, server_tick))
    {
        c.wait_connected();
        session = c.session;
    }
    void leads_to(const std::string& address) const { answers.say(name, address); }
    void gives(int error) const { answers.say(name, "", error); }

    two_ensembles& there;
    const std::string name;
    bridge_client c;
    answers_at_the_end at_end; // goes before the client
    std::int64_t session = 0;

private:
    [[nodiscard]] client_options options(milliseconds session_timeout, std::optional<milliseconds> server_tick) const
    {
        there.reset();
        leads_to("127.0.0.1");
        auto options = options_at(there.at_port(name), session_timeout);
        options.server_tick = server_tick.value_or(options.server_tick);
        return options;
    }
};

const std::string disbelieved = "has expired, which is not believed";

} // namespace

extern "C" int getaddrinfo(const char* node, const char* service, const addrinfo* hints, addrinfo** found)
{
    if (!node || !std::string_view{node}.ends_with(".test"))
        return real_getaddrinfo(node, service, hints, found);
    questions.ask();
    const auto [address, error] = answers.of(node);
    return error != 0 ? error : real_getaddrinfo(address.c_str(), service, hints, found);
}

TEST_CASE("another ensemble at the old address is not believed, and the session goes on where the name leads now")
{
    named_client at{"moves.test"};
    auto& c = at.c;
    REQUIRE(c.create("/kept", node_kind::ephemeral).result == outcome::ok);

    questions.allow(0);
    at.there.other_moves_in();
    c.run_until([&] { return c.said(disbelieved) >= 2; });
    CHECK(c.expiries == 0);
    CHECK(c.connections == 1);
    at.leads_to("127.0.0.2");
    questions.allow_all();
    c.wait_connected(2);
    CHECK(c.session == at.session);
    CHECK_FALSE(c.was_renewed);
    CHECK(c.expiries == 0);
    CHECK(c.get("/kept").stat.ephemeral_owner == at.session);
    c.close();
}

TEST_CASE("an attempt under way to an address that is named no more is ended")
{
    named_client at{"moves.test"};
    auto& c = at.c;

    questions.allow(0);
    at.there.old_place.belongs_to(0); // an attempt there lasts for ten seconds
    c.run_until([&] { return c.said("connecting to 127.0.0.1:") == 2; });
    at.leads_to("127.0.0.2");
    questions.allow_all();
    const auto start = steady_clock::now();
    c.wait_connected(2);
    CHECK(steady_clock::now() - start < 8s);
    CHECK(c.said("no host name leads to 127.0.0.1:") == 1);
    CHECK(c.session == at.session);
    c.close();
}

TEST_CASE("that no such name is known confirms nothing; a name that leads there does")
{
    named_client at{"goes.test", 2000ms};
    auto& c = at.c;

    at.gives(EAI_NONAME);
    at.there.other_moves_in();
    c.wait_disconnected();
    const auto lost = steady_clock::now();
    c.run_until([&] { return steady_clock::now() > lost + 5s && c.said(disbelieved) >= 2; });
    CHECK(c.expiries == 0);
    CHECK(c.connections == 1);
    CHECK(c.said("host names cannot be asked") == 0);
    at.leads_to("127.0.0.1");
    c.wait_connected(2);
    CHECK(c.expiries == 1);
    CHECK(c.was_renewed);
    CHECK(c.session != at.session);
    c.close();
}

TEST_CASE("a name that cannot be asked confirms its last address once the session should be over, with a warning")
{
    for (const bool silent : {false, true}) {
        CAPTURE(silent);
        named_client at{"fails.test", 4000ms, 500ms};
        auto& c = at.c;

        if (silent)
            questions.allow(0);
        else
            at.gives(EAI_AGAIN);
        at.there.other_moves_in();
        c.wait_disconnected();
        const auto lost = steady_clock::now();
        c.wait_connected(2);
        // With a lease's margin, and a tick. It may have been lost a moment before we heard of it.
        CHECK(steady_clock::now() >= lost + 4000ms + 1000ms + 500ms - 100ms);
        CHECK(c.expiries == 1);
        CHECK(c.was_renewed);
        CHECK(c.said(disbelieved) >= 1);
        CHECK(c.said("host names cannot be asked") == 1);
        c.close();
    }
}

TEST_CASE("a machine that slept till the session should be over does not wait for that again")
{
    named_client at{"fails.test", 40'000ms};
    auto& c = at.c;
    at.gives(EAI_AGAIN);
    at.there.other_moves_in();
    c.wait_disconnected();
    const auto lost = steady_clock::now();
    c.run_until([&] { return c.said(disbelieved) != 0; });
    runtime::move_lease_clock(60s);
    c.wait_connected(2);
    CHECK(steady_clock::now() < lost + 30s);
    CHECK(c.was_renewed);
    CHECK(c.said("host names cannot be asked") == 1);
    c.close();
}

TEST_CASE("a name whose question is from before the connection ended is asked again")
{
    asio::io_context context;
    const auto goes_on = asio::make_work_guard(context);
    answers_at_the_end at_end;
    const auto resolver = std::make_shared<bridge::host_resolver>(runtime::make_strand(context.get_executor()),
                                                                  bridge::parse_servers("asked.test:1").value());
    answers.say("asked.test", "127.0.0.1");
    questions.allow(0);
    const int before = questions.asked();
    const auto nobody = [](const auto&, const auto&) {};
    resolver->resolve({}, nobody, [] {});
    run_until(context, [&] { return questions.asked() == before + 1; });
    const auto lost = steady_clock::now();
    resolver->resolve(lost, nobody, [] {});
    CHECK(questions.asked() == before + 1); // no question is asked twice at a time
    questions.allow_all();
    run_until(context, [&] { return questions.asked() == before + 2 && resolver->complete(); });
    REQUIRE(resolver->found().size() == 1);
    CHECK(resolver->found().front()->asked >= lost);
    CHECK_FALSE(resolver->found().front()->unanswered_since);
    answers.say("asked.test", "", EAI_AGAIN);
    resolver->resolve(lost, nobody, [] {});
    run_until(context, [&] { return resolver->complete(); });
    REQUIRE(resolver->found().size() == 1); // its last one
    CHECK(resolver->found().front()->unanswered_since);
    answers.say("asked.test", "", EAI_NONAME);
    resolver->resolve(lost, nobody, [] {});
    run_until(context, [&] { return resolver->complete(); });
    CHECK(resolver->found().empty());
}

TEST_CASE("a machine whose hosts change: the session goes on at the new address")
{
    const own_hosts hosts;
    if (!hosts.made())
        return;
    two_ensembles there;
    const std::string list = there.at_port("zoo-1.moved") + ',' + there.at_port("zoo-2.moved");
    hosts.write("127.0.0.1 zoo-1.moved\n127.0.0.1 zoo-2.moved\n");
    connected_bridge_client c{options_at(list, 60'000ms)};
    const auto session = c.session;
    REQUIRE(c.create("/kept", node_kind::ephemeral).result == outcome::ok);

    SUBCASE("of which both names tell") {
        hosts.write("127.0.0.2 zoo-1.moved\n127.0.0.2 zoo-2.moved\n");
    }
    SUBCASE("of which one tells, and the other cannot be asked") {
        hosts.write("127.0.0.2 zoo-2.moved\n");
    }
    there.other_moves_in();
    c.wait_connected(2);
    CHECK(c.session == session);
    CHECK_FALSE(c.was_renewed);
    CHECK(c.expiries == 0);
    CHECK(c.get("/kept").stat.ephemeral_owner == session);
    c.close();
}

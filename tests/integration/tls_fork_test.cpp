// sanitizers: address
// program: tls
// A child that is forked off has copies of the keys with which its parent's connection is encrypted. What it does must
// not reach the parent's session, whether the parent has shaken hands or is about to.
#include "integration/fork_scene.hpp"
#include "integration/tls_scene.hpp"

using namespace zklock::test;

namespace {

const auto fork_server = secured_by_tls_1_3();

/// A parent with a client that is not connected yet.
struct family {
    proxy between{server().secure_port(), std::nullopt, speech::tls};
    std::unique_ptr<asio::io_context> io = std::make_unique<asio::io_context>();
    std::optional<client> own{std::in_place, *io, secure_options(between.address(), 60s)};
    std::optional<mutex> lock{std::in_place, *own, "/tls-fork"};
    pending<guard> held = begin_acquire(*lock);

    void run_until_held()
    {
        run_until(*io, [this] { return held.ended(); });
        REQUIRE_FALSE(held.error());
    }
    void destroy()
    {
        held.value() = guard();
        lock.reset();
        own.reset();
        io.reset();
    }
    /// Works, over the connection that there was.
    void check_works(std::size_t connections)
    {
        std::optional<error_code> answered;
        own->get("/", [&](error_code ec, const node_content&) { answered = ec; });
        run_until(*io, [&] { return answered.has_value(); });
        CHECK_FALSE(*answered);
        CHECK(between.accepted() == connections);
        CHECK(held.value());
        CHECK(ephemerals(server().port())[own->session_id()].size() == 1);
    }
    void end()
    {
        own->close([](error_code) {});
        io->restart();
        io->run_for(default_limit);
        expect_clean(server(), {"/tls-fork"});
    }
};

} // namespace

TEST_CASE("a child of a connected parent destroys its copies, or works with them, and the parent notices nothing")
{
    for (const bool told : {false, true})
        for (const bool works : {false, true}) {
            CAPTURE(told);
            CAPTURE(works);
            family f;
            f.run_until_held();
            f.check_works(1); // all that was sent before has passed
            const auto sent = f.between.count(opcode::tls_record);
            const auto life = [&] {
                if (works) {
                    f.own->set("/", "a child's", [](error_code, const node_stat&) {});
                    std::move(f.held.value()).release([](error_code) {});
                    f.own->close([](error_code) {});
                    f.io->restart();
                    if (told)
                        f.io->run_for(200ms);
                }
                f.destroy();
                return 0;
            };
            CHECK((told ? in_child(*f.io, life) : in_child(life)) == 0);
            CHECK(f.between.count(opcode::tls_record) == sent);
            f.check_works(1);
            f.end();
        }
}

TEST_CASE("a child that is forked off in the middle of the handshake, whose copies end there, does not disturb it")
{
    for (std::size_t record = 0; record < 3; ++record) {
        CAPTURE(record);
        family f;
        f.between.on_next(opcode::tls_record, moment::reply, fate::hold, record);
        run_until(*f.io, [&] { return f.between.struck(); });
        const int result = in_child(*f.io, [&] {
            f.destroy();
            return 0;
        });
        CHECK(result == 0);
        f.between.release();
        f.run_until_held();
        f.check_works(1);
        f.end();
    }
}

TEST_CASE("a child makes a client of its own, with TLS, beside its parent's")
{
    family f;
    f.run_until_held();
    const int result = in_child(*f.io, [&] {
        f.destroy();
        const auto tried = try_once(secure_options(server().secure_address()), "/tls-fork");
        return tried == make_error_code(errc::busy) ? 0 : 1;
    });
    CHECK(result == 0);
    f.check_works(1);
    f.end();
}

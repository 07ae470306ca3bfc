// sanitizers: address
// program: bridge
// The store over TLS: threads and names that a session needs before there is one.
#include "integration/bridge_client.hpp"
#include "support/certificate_authority.hpp"
#include "support/run_until.hpp"
#include "zklock/client.hpp"

#include <thread>

using namespace zklock::test;

namespace {

const server_starts_with bridge_with_tls([](server_options& options) { options.secure.emplace(); });

client_options secure(const std::string& servers)
{
    auto options = options_for(servers);
    options.tls = with(&tls_options::enabled, true, &tls_options::ca_file, usual_authority().file());
    return options;
}

/// An executor that throws on all threads but one.
struct of_one_thread {
    template <class F> void execute(F&& f) const
    {
        if (std::this_thread::get_id() != one) {
            *has_thrown = true;
            throw std::runtime_error("meant to");
        }
        asio::require(inner, asio::execution::blocking.never).execute(std::forward<F>(f));
    }
    [[nodiscard]] of_one_thread require(asio::execution::blocking_t::never_t) const { return *this; }
    [[nodiscard]] asio::execution_context& query(asio::execution::context_t) const noexcept { return inner.context(); }
    friend bool operator==(const of_one_thread&, const of_one_thread&) noexcept = default;

    asio::io_context::executor_type inner;
    std::shared_ptr<std::atomic<bool>> has_thrown = std::make_shared<std::atomic<bool>>(false);
    std::thread::id one = std::this_thread::get_id();
};

} // namespace

TEST_CASE("the executor throws at the thread that has read the files: the client fails as it is used next")
{
    for (int attempt = 0; attempt < 100; ++attempt) {
        asio::io_context io;
        const of_one_thread on{io.get_executor()};
        client c(on, secure(server().secure_address()));
        run_until(io, [&] { return on.has_thrown->load() || c.state() == connection_state::connected; });
        if (!on.has_thrown->load())
            continue; // the strand was at work just then, and took what was read without asking the executor
        std::optional<error_code> why;
        const auto use = [&] { c.wait_connected(60s, [&why](error_code ec) { why = ec; }); };
        wait_until("its refusal is known", default_limit, [&] { // which is after the throw
            if (c.state() != connection_state::failed)
                use();
            return c.state() == connection_state::failed;
        });
        use(); // it may have failed by itself before
        run_until(io, [&why] { return why.has_value(); });
        CHECK(*why == errc::closed);
        expect_clean(server());
        return;
    }
    FAIL("it was never asked");
}

TEST_CASE("a server that is known by name and says nothing is given up in time: its address was looked up before")
{
    asio::io_context context;
    const asio::ip::tcp::acceptor silent(context, asio::ip::tcp::endpoint(asio::ip::address_v4::loopback(), 0));
    bridge_client c(secure("localhost:" + std::to_string(silent.local_endpoint().port())));
    c.run_until([&] { return c.said("did not agree on TLS in time") != 0; });
}

// sanitizers: address
// program: tls
// Who a client is to the servers, by its certificate: access lists of the scheme x509, certificates that are renewed on
// disk, and contexts of one's own.
#include "integration/tls_scene.hpp"

#include <boost/asio/ssl/context.hpp>

using namespace zklock::test;

namespace {

const server_starts_with wanting_certificates([](server_options& options) {
    auto& port = options.secure.emplace();
    port.client_auth = "want";
    port.tls_1_3 = true;
});

certified named(const std::string& common_name)
{
    return usual_authority().certify(with(&certificate_wish::common_name, common_name));
}

client_options options_of(const tls_options& tls)
{
    client_options options = secure_options(server().secure_address());
    options.tls = tls;
    return options;
}

/// A certificate and a key that change.
class renewed_files {
public:
    explicit renewed_files(const certified& first) { renew(first); }

    void renew(const certified& by)
    {
        renew_certificate(by);
        renew_key(by);
    }
    void renew_certificate(const certified& by) { replace(files_.certificate, by.certificate); }
    void renew_key(const certified& by) { replace(files_.key, by.key); }
    [[nodiscard]] const certified& files() const { return files_; }

private:
    /// As those who renew certificates do: at once.
    void replace(const std::string& place, const std::string& by) const
    {
        const auto next = here_.path() / "next";
        std::filesystem::copy_file(by, next, std::filesystem::copy_options::overwrite_existing);
        std::filesystem::rename(next, place);
    }

    temporary_directory here_;
    certified files_{here_.path() / "own.pem", here_.path() / "own.key", {}};
};

/// As whom the client is known, by the access list of a node that it makes for its creator alone.
awaitable<std::string> known_as(client zk)
{
    static int count = 0;
    const std::string path = "/tls-known-" + std::to_string(count++);
    must(co_await zk.wait_connected(default_limit));
    must(co_await zk.create(path, "", node_kind::persistent, access_list(acl::creator_all)));
    const auto found = must(co_await zk.get_acl(path));
    must(co_await zk.remove(path));
    std::string all;
    for (const access_entry& entry : found.list.entries())
        all += entry.scheme + ':' + entry.id + ' ';
    co_return all;
}

} // namespace

TEST_CASE("x509: a lock for its creators alone works by the certificate, and clients with another are refused")
{
    const certified ann = named("ann"), ben = named("ben");
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        client_options of_ann = options_of(showing(ann));
        of_ann.access = acl::creator_all;
        client first(executor, of_ann), second(executor, of_ann), other(executor, options_of(showing(ben)));
        CHECK(co_await known_as(first) == "x509:CN=ann ");
        CHECK(co_await known_as(other) == "x509:CN=ben ");
        const std::string path = "/tls-ann";
        mutex lock(first, path), same(second, path), foreign(other, path);
        guard held = must(co_await lock.acquire(default_limit));
        CHECK(error_in(co_await foreign.acquire(default_limit)) == errc::access_denied);
        auto waits = begin_acquire(same);
        must(co_await std::move(held).release());
        co_await take_turn(waits);
        for (client* zk : {&first, &second, &other})
            must(co_await zk->close());
    });
}

TEST_CASE("a server that wants a certificate and gets none: the client is nobody, and no creator")
{
    play<0>({.clean = {"/tls/usable"}}, [&]() -> awaitable<void> {
        client_options nobody = options_of(trusting());
        client zk(co_await asio::this_coro::executor, nobody);
        co_await expect_connected(zk);
        mutex lock(zk, "/tls-nobody", with(&mutex_options::access, acl::creator_all));
        CHECK(error_in(co_await lock.acquire(default_limit)) == errc::invalid_option);
        must(co_await zk.close());
    });
}

TEST_CASE("a certificate that is renewed on disk is taken up at the next connect; half of it is not")
{
    const certified old = named("old"), young = named("young"), late = named("late");
    renewed_files files(old);
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        const kept_log log;
        proxy link(server().secure_port(), std::nullopt, speech::tls);
        client_options options = options_of(showing(files.files()));
        options.servers = link.address();
        options.log = log;
        client zk(executor, options);
        must(co_await zk.wait_connected(default_limit));
        CHECK(co_await known_as(zk) == "x509:CN=old ");

        files.renew_certificate(young); // its key is not there yet
        co_await reconnect(zk, link);
        CHECK(co_await known_as(zk) == "x509:CN=old ");
        CHECK(log.has("is not that of the certificate"));
        files.renew_key(young);
        co_await reconnect(zk, link);
        CHECK(co_await known_as(zk) == "x509:CN=young ");
        std::filesystem::remove(files.files().key); // as is what cannot be read
        co_await reconnect(zk, link);
        CHECK(co_await known_as(zk) == "x509:CN=young ");
        CHECK(log.has("cannot be read"));
        files.renew(late);
        co_await reconnect(zk, link);
        CHECK(co_await known_as(zk) == "x509:CN=late ");
        CAPTURE(log.text());
        must(co_await zk.close());
    });
}

TEST_CASE("a context of one's own: its certificate and its authorities; without verification it is refused")
{
    namespace ssl = boost::asio::ssl;
    const certified own = named("own");
    const auto made = [&](bool verifies) {
        auto context = std::make_shared<ssl::context>(ssl::context::tls_client);
        context->load_verify_file(usual_authority().file());
        context->use_certificate_chain_file(own.certificate);
        context->use_private_key_file(own.key, ssl::context::pem);
        if (verifies)
            context->set_verify_mode(ssl::verify_peer);
        return context;
    };
    const auto tls = with(&tls_options::enabled, true, &tls_options::context, made(true));
    play<0>([&](const any_io_executor& executor) -> awaitable<void> {
        client first(executor, options_of(tls)), second(executor, options_of(tls)); // it serves several
        CHECK(co_await known_as(first) == "x509:CN=own ");
        CHECK(co_await known_as(second) == "x509:CN=own ");
        must(co_await first.close());
        must(co_await second.close());

        tls_options careless = tls;
        careless.context = made(false);
        client third(executor, options_of(careless));
        CHECK(error_in(co_await third.wait_connected(default_limit)) == errc::invalid_option);
        must(co_await third.close());
    });
}

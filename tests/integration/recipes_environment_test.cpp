// sanitizers: none
// program: mutexes
// Every recipe where it has to live: behind credentials, in a chroot, under parents that are missing, however deep, and
// of either kind.
#include "integration/environment_recipes.hpp"

using namespace zklock::test;

namespace {

const server_starts_with kept_containers([](server_options& options) {
    options.container_check_interval = std::chrono::hours(1); // so that they can be looked at
});

const access_list two_users{digest_entry("ann", "secret"), digest_entry("bob", "different")};

const environment environments[] = {
    {"open", nullptr, acl::open, "", "", parent_kind::container},
    {"private", "ann:secret", acl::creator_all, "", "", parent_kind::container},
    {"readable", "ann:secret", acl::creator_all_or_read, "", "", parent_kind::persistent},
    {"chroot", nullptr, acl::open, "/environment_root", "", parent_kind::container},
    {"private_chroot", "ann:secret", acl::creator_all, "/environment_root/inner", "/a/b", parent_kind::persistent},
    {"deep", nullptr, acl::open, "", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", parent_kind::container},
    {"deep_persistent", nullptr, acl::open, "", "/a/b/c/d/e/f/g/h/i/j/k/l/m/n/o/p", parent_kind::persistent},
    {"private_deep", "ann:secret", acl::creator_all, "", "/a/b/c/d/e/f", parent_kind::container},
    {"vault", "ann:secret", acl::creator_all, "/environment_vault", "/a", parent_kind::container}, // not to be read
    {"two_users", "ann:secret", two_users, "", "/a", parent_kind::container, "bob:different"},
    {"two_users_of_a_lock", "ann:secret", two_users, "", "/a/b", parent_kind::persistent, "bob:different", true},
};

client_options options_in(const environment& where, std::string address, const char* secret)
{
    client_options o = fault_options(std::move(address), long_session);
    o.chroot = where.chroot;
    if (!where.by_lock)
        o.access = where.access;
    if (secret)
        o.auth.push_back({"digest", secret});
    return o;
}

/// All nodes below one, and itself.
void list_all(admin_client& admin, const std::string& node, std::vector<std::string>& found)
{
    found.push_back(node);
    for (const std::string& child : admin.children(node))
        list_all(admin, node + "/" + child, found);
}
std::vector<std::string> all_below(const environment& where)
{
    owner_of owner(where);
    std::vector<std::string> found;
    for (const std::string& child : owner.children(*where.chroot ? where.chroot : "/"))
        if (child != "zookeeper")
            list_all(owner, where.chroot + ("/" + child), found);
    return found;
}

/// Nobody gets in with no credentials, or with wrong ones; and nothing comes of it.
awaitable<void> expect_kept_out(const environment& where, const recipe& what, const wishes& w)
{
    const std::vector<std::string> before = all_below(where);
    for (const std::string secret : {"", "ann:guessed", "bob:secret"}) {
        CAPTURE(secret);
        client_options o = options_in(where, server().address(), nullptr);
        if (secret.empty())
            o.access = acl::open;
        else
            o.auth.push_back({"digest", secret});
        client zk(co_await asio::this_coro::executor, o);
        CHECK(co_await what.ask(zk, w) == errc::access_denied);
        must(co_await zk.close());
    }
    CHECK(all_below(where) == before);
}

/// The parents are there, from the top to the bottom. (Their Stat does not tell of what kind they are.)
void expect_parents(const environment& where, const std::string& top, const std::string& path)
{
    owner_of owner(where);
    for (auto end = top.size();; end = std::min(path.find('/', end + 1), path.size())) {
        const std::string node = where.chroot + path.substr(0, end);
        const auto found = owner.exists(node);
        CAPTURE(node);
        REQUIRE(found);
        CHECK(found->ephemeral_owner == 0);
        if (end == path.size())
            break;
    }
}

void make_roots()
{
    admin_client admin(server().port());
    admin.create_all("/environment_root/inner");
    admin.authenticate("digest", "ann:secret");
    const std::vector<access_rule> only_me(1, access_rule{31, "auth", ""});
    admin.create("/environment_vault", {}, create_mode::persistent, only_me);
}

} // namespace

TEST_CASE("every recipe in every environment, and nobody without the credentials")
{
    make_roots();
    for (const environment& where : environments)
        for (const recipe& what : every_recipe) {
            CAPTURE(where.name);
            CAPTURE(what.name);
            const std::string top = "/" + where.name + "_" + what.name;
            play<0>([&](const any_io_executor& executor) -> awaitable<void> {
                wishes w{where, top + where.below, {}};
                w.options.parents = where.parents;
                w.options.properties["role"] = "test";
                if (where.by_lock)
                    w.options.access = where.access;
                if (where.name == "vault")
                    co_await expect_kept_out(where, what, w); // before there is anything
                proxy link(server().port());
                const char* const second = where.second_secret ? where.second_secret : where.secret;
                client one(executor, options_in(where, link.address(), where.secret));
                client two(executor, options_in(where, link.address(), second));
                co_await what.use(one, two, w);
                co_await nothing_left(server().port());
                expect_parents(where, top, w.path);
                const bool containers = link.count(opcode::create_container) != 0;
                CHECK(containers == (where.parents == parent_kind::container));
                if (where.secret)
                    co_await expect_kept_out(where, what, w);
                must(co_await one.close());
                must(co_await two.close());
            });
        }
}

TEST_CASE("a chroot that does not exist is an error, and nothing is made")
{
    const environment nowhere{"nowhere", nullptr, acl::open, "/no_such_root/at_all", "", parent_kind::container};
    for (const recipe& what : every_recipe) {
        CAPTURE(what.name);
        const auto body = [&]() -> awaitable<void> {
            client zk(co_await asio::this_coro::executor, options_in(nowhere, server().address(), nullptr));
            const wishes w{nowhere, "/a/b", {}};
            CHECK(co_await what.ask(zk, w) == errc::no_such_chroot);
            must(co_await zk.close());
        };
        run_test(test_limit, body);
    }
    admin_client admin(server().port());
    CHECK_FALSE(admin.exists("/no_such_root"));
    expect_clean(server());
}

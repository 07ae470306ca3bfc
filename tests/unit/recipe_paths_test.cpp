// recipe_paths: which paths it keeps, which give way to others, and when one is destroyed.
#include "container_scene.hpp"

using namespace zklock::unit;

namespace {

/// It is in use as long as the test says so. It makes nothing by itself; containers of its own would be elsewhere.
struct simple_path final : recipes::recipe_path {
    simple_path(recipes::session& s, int its_options, int& of_all, std::function<void()> idle)
        : recipe_path(s, "/p", std::move(idle)), number(its_options), alive(of_all)
    {
        ++alive;
    }
    ~simple_path() override { --alive; }

    void begin()
    {
        busy = true;
        use();
    }
    void end()
    {
        busy = false;
        advance();
    }
    void has_made(std::size_t level) { parents_.made.add({level, 50, 50}); }
    void has_made_elsewhere() { own.add({0, 50, 50}); }

    [[nodiscard]] int options() const noexcept { return number; }
    [[nodiscard]] bool idle() const noexcept override { return !busy; }
    [[nodiscard]] bool only_leaving() const noexcept { return leaves_only; }
    [[nodiscard]] bool finished() const noexcept override
    {
        return idle() && !keeps && !own.any() && !parents_.made.any();
    }
    [[nodiscard]] making next_making() noexcept override
    {
        return own.any() ? making{"/elsewhere", &own} : recipe_path::next_making();
    }
    void own_path_gone() override {}
    void path_answered(std::optional<errc>) override {}
    void retire_the_rest() override
    {
        keeps = false;
        advance();
    }
    void epoch_began() override {}
    void epoch_ended() override {}
    void session_ended() override {}
    void lease_lapsed() override {}
    void refuse_all(errc) override {}
    void stop(errc) override {}
    void advance() override { tell_if_idle(); }
    void on_own_event(store::event_kind, std::string_view) override {}
    void on_node_event(store::event_kind, std::string_view, std::string_view) override {}

    const int number;
    int& alive;
    bool busy = false;
    bool leaves_only = false;
    bool keeps = false; ///< something that is worth it, until it is retired
    recipes::made_containers own;
};

struct paths_scene : container_scene {
    simple_path* get(int options, const std::string& path = "/p")
    {
        return paths.get(path, paths.find(path), options, [&](std::function<void()> idle) {
            return std::make_unique<simple_path>(*session, options, alive, std::move(idle));
        });
    }
    simple_path& begin(int options, const std::string& path = "/p")
    {
        simple_path* const one = get(options, path);
        REQUIRE(one != nullptr);
        one->begin();
        return *one;
    }
    void end(simple_path& one)
    {
        one.end();
        clock.run();
    }

    int alive = 0;
    recipes::recipe_paths<simple_path> paths{*session};
};

/// Another one uses the path, while the containers are looked at that the one before has made elsewhere.
struct replaced_scene : paths_scene {
    replaced_scene()
    {
        simple_path& before = begin(1);
        before.has_made_elsewhere();
        end(before);
        now = &begin(2);
        clock.run();
        CHECK(alive == 2);
        CHECK(servers.pending() == "sync /, exists /elsewhere");
    }
    void delete_container()
    {
        answer_syncs();
        asked(*this).only("exists /elsewhere").stat(used()).only("remove /elsewhere at version 0").ends(outcome::ok);
    }

    simple_path* now = nullptr;
};

} // namespace

TEST_CASE("users with the same options have the same path, and nobody else has it meanwhile")
{
    paths_scene s;
    CHECK(s.paths.find("/p") == nullptr);
    simple_path& first = s.begin(1);
    CHECK(s.paths.find("/p") == &first);
    CHECK(s.get(1) == &first);
    CHECK(s.get(2) == nullptr);
    CHECK(s.get(2, "/q") != nullptr);
    CHECK(s.paths.find("/p") == &first);
    CHECK(s.alive == 2);
}

TEST_CASE("one that only takes its nodes back gives way to one with others, and stays until that is done")
{
    paths_scene s;
    simple_path& first = s.begin(1);
    first.has_made(1);
    first.leaves_only = true;
    CHECK(s.get(1) == &first);
    simple_path& next = s.begin(2);
    CHECK(s.paths.find("/p") == &next);
    CHECK(next.upper_containers().any());
    CHECK(s.alive == 2);
    CHECK(s.get(1) == nullptr);
    simple_path* third = nullptr;
    SUBCASE("it ends first")
        s.end(first);
    SUBCASE("its successor ends first") {
        s.end(next);
        CHECK(s.alive == 2);
        s.end(first);
    }
    SUBCASE("its successor gives way, too") {
        next.leaves_only = true;
        third = &s.begin(3);
        CHECK(s.alive == 3);
        s.end(next);
        s.end(first);
    }
    s.clock.run();
    CHECK(s.alive == 1);
    CHECK(s.paths.find("/p") == (third ? third : &next));
}

TEST_CASE("one that nobody uses serves those with its options, and gives way to one with others, which takes over")
{
    paths_scene s;
    simple_path& first = s.begin(1);
    first.has_made(1);
    s.end(first);
    CHECK(s.get(1) == &first);
    simple_path& next = s.begin(2);
    CHECK(next.options() == 2);
    CHECK(next.upper_containers().any());
    CHECK(s.paths.find("/p") == &next);
    CHECK(s.alive == 1);
}

TEST_CASE("one that was replaced stays until its containers are gone")
{
    replaced_scene s;
    SUBCASE("while the next one is in use") {
        s.delete_container();
        CHECK(s.alive == 1);
        CHECK(s.paths.find("/p") == s.now);
    }
    SUBCASE("longer than the next one") {
        s.end(*s.now);
        CHECK(s.paths.find("/p") == nullptr);
        CHECK(s.alive == 1);
        s.delete_container();
        CHECK(s.alive == 0);
    }
}

TEST_CASE("one that was replaced tries again whenever the answer is lost")
{
    replaced_scene s;
    for (int lost = 0; lost < 2; ++lost) {
        s.reconnect();
        s.come_to_rest();
        REQUIRE(s.servers.pending() == "exists /elsewhere");
    }
    s.delete_container();
    CHECK(s.alive == 1);
}

TEST_CASE("one that comes to rest is destroyed if it is finished, and else kept for a while")
{
    paths_scene s;
    simple_path& one = s.begin(1);
    SUBCASE("finished") {
        s.end(one);
        CHECK(s.alive == 0);
        CHECK(s.paths.find("/p") == nullptr);
    }
    SUBCASE("not finished") {
        one.keeps = true;
        s.end(one);
        CHECK(s.paths.find("/p") == &one);
        s.come_to_rest();
        CHECK(s.alive == 0);
        CHECK(s.paths.find("/p") == nullptr);
    }
}

TEST_CASE("one that is used again before it was told to be idle neither goes nor rests")
{
    paths_scene s;
    simple_path& one = s.begin(1);
    one.end();
    one.begin();
    s.clock.run();
    REQUIRE(s.alive == 1);
    s.end(one); // a path at rest does not tell that it is idle
    CHECK(s.alive == 0);
}

// What is wrong with options is named, before anything is sent: the member, its value, and what would be accepted.
#include "session_scene.hpp"

#include "recipes/semaphore/semaphores.hpp"

using namespace zklock::unit;

namespace {

template <class Options> std::string fault_of(const Options& o)
{
    const auto fault = find_fault(o);
    return fault ? to_string(*fault) : "none";
}

} // namespace

TEST_CASE("options of locks: the first that is refused is named")
{
    mutex_options o;
    CHECK(fault_of(o) == "none");
    o.cohort = 0;
    CHECK(fault_of(o) == "cohort is 0, and has to be 1 to 4096");
    o.cohort = 4096;
    CHECK(fault_of(o) == "none");
    o.linger = -1ms;
    CHECK(fault_of(o) == "linger is -1 ms, and has to be 0 ms to 86400000 ms");
    o.linger = 0ms;
    o.identifier = "a\nb";
    CHECK(fault_of(o) == "identifier is \"a?b\", and has to be one line");
    o.identifier = "__REVOKE__";
    CHECK(find_fault(o).value().option == "identifier");
    o.properties["zone"] = "a";
    CHECK(fault_of(o) == "none");
    o.properties["a=b"] = "c";
    CHECK(find_fault(o).value().option == "properties");
    CHECK(find_fault(o).value().value == "a key \"a=b\"");
    o.properties = {{"large", std::string(64 * 1024, 'x')}};
    CHECK(find_fault(o).value().option == "properties");

    o = {};
    o.access = access_list{digest_entry("ann", "secret"), {"auth", ""}};
    CHECK(fault_of(o) == "none");
    o.access = access_list{{"digest", "ann:secret"}};
    CHECK(fault_of(o).starts_with("access is an entry of the digest of \"ann\" whose hash cannot be one"));
    o.access = access_list(std::vector<access_entry>());
    CHECK(fault_of(o) == "access is a list of 0 entries, and has to be one of 1 to 64");
    o.access = access_list{{"world", "anyone", 77}};
    CHECK(fault_of(o).starts_with("access is an entry that allows 77, and has to be "));

    shared_mutex_options shared;
    CHECK(fault_of(shared) == "none");
    shared.access = access_list{{"", "anyone"}};
    CHECK(fault_of(shared).starts_with("access is an entry of the scheme \"\", and has to be "));
    shared.access = acl::open;
    shared.names = static_cast<naming>(7);
    CHECK(fault_of(shared) == "names is 7, and has to be naming::curator or naming::kazoo");

    semaphore_options permits;
    CHECK(fault_of(permits) == "none");
    permits.access = access_list{{"digest", "ann\n"}};
    CHECK(fault_of(permits).starts_with("access is an entry of the id \"ann?\", and has to be "));
    permits.access = acl::creator_all;
    permits.permits = 0;
    CHECK(fault_of(permits) == "permits is 0, and has to be 1 to 2147483647");
    permits.permits = 3;
    permits.count_path = "count";
    CHECK(find_fault(permits).value().option == "count_path");
    permits.count_path = "/zookeeper/count"; // below a chroot it is a path as any other
    CHECK(fault_of(permits) == "none");
    permits.count_path = "/count";
    CHECK(fault_of(permits) == "none");
    permits.check_permits = true;
    CHECK(find_fault(permits).value().option == "check_permits");
}

TEST_CASE("marks that cannot work: the option is named, and why")
{
    mutex_options o;
    o.mark = "-stock-";
    o.also_heeds = {"", "__lock__", "-order-", "-lock-"};
    CHECK(fault_of(o) == "none");
    o.also_heeds.assign(16, "-order-");
    CHECK(fault_of(o) == "none");
    o.also_heeds.assign(17, "-order-");
    CHECK(fault_of(o) == "also_heeds is 17 marks, and has to be 16 at most");
    for (const std::string mark : {"a/b", "/", "a\n", "\x7f", "\xff"}) {
        CAPTURE(mark);
        o = {};
        o.mark = mark;
        CHECK(fault_of(o).ends_with(", and has to be text that can stand in a node's name"));
        CHECK(find_fault(o).value().option == "mark");
        o.mark.clear();
        o.also_heeds = {"x", mark};
        CHECK(find_fault(o).value().option == "also_heeds");
    }
    o = {};
    o.mark.assign(64, 'x');
    CHECK(fault_of(o) == "none");
    o.mark += 'x';
    CHECK(fault_of(o).ends_with(", and has to be 64 bytes at most"));
    o.mark = "v2";
    CHECK(fault_of(o) ==
          "mark is \"v2\", and has to be without a digit at its end: nobody could tell where the number begins");
    o.mark = "-__READ__";
    CHECK(fault_of(o).starts_with("mark is \"-__READ__\", and has to be another than those of readers and writers"));
    o.mark = "-";
    CHECK(fault_of(o).starts_with("mark is \"-\", and has to be told from \"lock-\" by more than a '-' at the end"));
    o.mark = "stock-";
    o.also_heeds = {"-order-", "-stock"};
    CHECK(fault_of(o) == "also_heeds is \"-stock\", and has to be told from \"stock-\" by more than a '-' at the end: "
                         "numbers past 2^31 begin with that sign");
    o.mark.clear();
    CHECK(fault_of(o) == "none");
    o.also_heeds.push_back("k-");
    o.also_heeds.push_back("stock-");
    CHECK(fault_of(o).starts_with("also_heeds is \"-stock\", and has to be told from \"k-\""));
}

TEST_CASE("an acquire that is refused for an option: the log names path, option, value and what is accepted")
{
    logged_scene s;
    CHECK(s.acquire("/a", with(&mutex_options::cohort, 5000))->ended == errc::invalid_option);
    CHECK(s.errors == std::vector<std::string>{"/a is refused: cohort is 5000, and has to be 1 to 4096"});
    CHECK(s.servers.requests.empty());
}

TEST_CASE("a lock's own access list for the creator, of a client without credentials")
{
    connected<logged_scene> s;
    CHECK(s.acquire("/a", with(&mutex_options::access, acl::creator_all))->ended == errc::invalid_option);
    REQUIRE(s.errors.size() == 1);
    CHECK(s.errors[0].starts_with("/a is refused: access is acl::creator_all, and has to be without auth where "));
    CHECK(s.servers.requests.empty());
}

TEST_CASE("options that contradict those of another lock of the client: both are named")
{
    connected<logged_scene> s;
    const auto first = s.acquire("/a"); // waits for its answers
    CHECK_FALSE(first->ended);
    const auto refused = [&](const mutex_options& with, contender_kind kind = contender_kind::mutex) {
        s.errors.clear();
        CHECK(s.acquire("/a", with, acquire_mode::wait, kind)->ended == errc::invalid_option);
        REQUIRE(s.errors.size() == 1);
        return s.errors[0];
    };
    const std::string rest = ", as in other locks of this client on the path";
    CHECK(refused(with(&mutex_options::linger, 5ms)) == "/a is refused: linger is 5 ms, and has to be 0 ms" + rest);
    CHECK(refused(with(&mutex_options::cohort, 2)) == "/a is refused: cohort is 2, and has to be 1" + rest);
    CHECK(refused(with(&mutex_options::names, naming::kazoo)) ==
          "/a is refused: names is naming::kazoo, and has to be naming::curator" + rest);
    CHECK(refused(with(&mutex_options::mark, "-stock-")) ==
          "/a is refused: mark is \"-stock-\", and has to be \"\"" + rest);
    CHECK(refused(with(&mutex_options::also_heeds, {"x", "", "x"})) ==
          "/a is refused: also_heeds is {\"\", \"x\"}, and has to be {}" + rest);
    CHECK(refused({}, contender_kind::reader) ==
          "/a is refused: the lock is a shared mutex, and has to be a mutex or an election" + rest);
}

TEST_CASE("a session too short for a lease: the log names what the servers grant, and what would do")
{
    logged_scene s;
    s.connect(5, true, 2s);
    s.clock.run();
    REQUIRE(s.errors.size() == 1);
    CHECK(s.errors[0].starts_with("session_timeout is 2000 ms, as the servers grant it (10000 ms were asked for), and "
                                  "has to be 2122 ms or more"));
    CHECK(s.acquire("/a")->ended == errc::invalid_option);
}

TEST_CASE("paths that are refused: the log names the rule, of locks, permits, lists, requests and nodes")
{
    connected<logged_scene> s;
    const auto told = [&](const std::string& line) {
        CHECK(s.errors == std::vector{line});
        s.errors.clear();
    };
    CHECK(s.acquire("shop/stock")->ended == errc::invalid_path);
    told("the path \"shop/stock\" is refused: it is relative: it does not begin with '/'");
    CHECK(s.acquire("/zookeeper/a")->ended == errc::invalid_path);
    told("the path \"/zookeeper/a\" is refused: it is in /zookeeper, which is the servers' own");

    std::optional<error_code> ended;
    const auto is_refused = [&](const std::string& line) {
        s.clock.run();
        CHECK(std::exchange(ended, std::nullopt) == errc::invalid_path);
        told(line);
    };
    recipes::semaphores gates(*s.locks);
    const auto acquire = [&](const std::string& path, const std::string& count_path) {
        recipes::permits_request request{{}, {path, with(&semaphore_options::count_path, count_path)}};
        request.done = [&ended](error_code ec, const recipes::grant&) { ended = ec; };
        static_cast<void>(gates.acquire(std::move(request)));
    };
    acquire("/gate", "/count/");
    is_refused("the path \"/count/\" is refused: it ends with '/'");
    acquire("/" + std::string(4090, 'x'), {});
    is_refused("the path \"/" + std::string(199, 'x') +
               "\" and so on is refused: it leaves no room for the names of nodes below it");
    recipes::list_contenders(*s.session, "/a//b",
                             [&](error_code ec, const std::vector<zklock::contender>&) { ended = ec; });
    is_refused("the path \"/a//b\" is refused: it has an empty component: \"//\"");
    recipes::revoke(*s.session, "/a", "/b/c", [&](error_code ec, std::size_t) { ended = ec; });
    is_refused("the path \"/b/c\" is refused: it is no node of a contender for /a");
    recipes::nodes::get(*s.session, "/a\nb", [&](error_code ec, const node_content&) { ended = ec; });
    is_refused("the path \"/a?b\" is refused: it has a control character, or another one that ZooKeeper forbids");
    recipes::nodes::remove(*s.session, "/", any_version, [&](error_code ec) { ended = ec; });
    is_refused("the path \"/\" is refused: it is the root");
    recipes::nodes::commit(*s.session, transaction().check("/a").create("/.", ""), {},
                           [&](error_code ec, const commit_result&) { ended = ec; });
    is_refused("the path \"/.\" is refused: it has a component \".\" or \"..\"");
    CHECK(s.servers.requests.empty());
}

TEST_CASE("permits: how many are wanted, and a maximum that others of the client do not share")
{
    connected<logged_scene> s;
    recipes::semaphores gates(*s.locks);
    const auto acquire = [&](unsigned maximum, std::size_t count) {
        recipes::permits_request request{{}, {"/gate", with(&semaphore_options::permits, maximum), count}};
        auto ended = std::make_shared<std::optional<error_code>>();
        request.done = [ended](error_code ec, const recipes::grant&) { *ended = ec; };
        auto handle = gates.acquire(std::move(request));
        s.clock.run();
        return std::pair(std::move(handle), ended);
    };
    CHECK(*acquire(3, 4).second == errc::invalid_option);
    const auto first = acquire(3, 1);
    CHECK_FALSE(first.second->has_value());
    CHECK(*acquire(2, 1).second == errc::invalid_option);
    CHECK(s.errors == std::vector<std::string>{
                          "/gate is refused: the number of permits to acquire is 4, and has to be 1 to 3, the "
                          "semaphore's permits",
                          "/gate is refused: permits is 2, and has to be 3, as in other semaphores of this client on "
                          "the path"});
}

TEST_CASE("what a transaction cannot do is named")
{
    connected<logged_scene> s;
    transaction t;
    t.set("/a", std::string(2 * 1024 * 1024, 'x'));
    std::optional<error_code> ended;
    const auto handle =
        recipes::nodes::commit(*s.session, t, {}, [&](error_code ec, const commit_result&) { ended = ec; });
    s.clock.run();
    CHECK(ended == errc::invalid_option);
    REQUIRE(s.errors.size() == 1);
    CHECK(s.errors[0].find("the servers take 1048575") != std::string::npos);
}

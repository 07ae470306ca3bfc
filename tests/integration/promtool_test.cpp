// sanitizers: none
// program: told
// The text of the metrics, read by a strict parser, and by Prometheus's own tool where that is installed.
#include "integration/recipe_scene.hpp"
#include "support/prometheus_page.hpp"
#include "support/skip.hpp"

using namespace zklock::test;

TEST_CASE("Prometheus accepts the text, whatever the locks are called")
{
    temporary_directory directory;
    play<1>([&](client& zk) -> awaitable<void> {
        mutex lock(zk, new_path(), with(&mutex_options::metrics_name, "odd \\ \" \n \xff name"));
        for (int i = 0; i < 3; ++i) {
            co_await take_turn(lock);
        }
        metrics m = zk.metrics();
        m.labels["client"] = "one";
        metrics other = m;
        other.labels["client"] = "other";
        const std::vector<metrics> both{m, other};
        const std::string text = prometheus_text(both);
        const prometheus_page page(text);
        CHECK(page.value("zklock_acquires_total",
                         {{"client", "one"}, {"lock", "odd \\ \" \n ? name"}, {"result", "acquired"}}) == 3);
        std::ofstream(directory.path() / "text") << text;
        std::ofstream(directory.path() / "plain") << prometheus_text(zk.metrics());
    });
    if (std::system("command -v promtool >/dev/null") != 0) {
        skip("promtool (of Debian's package prometheus, or promtool) is not installed: only the tests' own parser has "
             "read it");
        return;
    }
    for (const char* file : {"text", "plain"}) {
        const std::string command = "promtool check metrics <" + (directory.path() / file).string() + " 1>&2";
        CHECK(std::system(command.c_str()) == 0);
    }
}

#include "interoperation/peer.hpp"

#include "support/failure_report.hpp"

#include <fcntl.h>

#include <fstream>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace zklock::test {

namespace {

// Where they are is told by CMakeLists.txt.
std::vector<std::string> command_of(maker of)
{
    switch (of) {
    case maker::curator:
        return {"java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "@" ZKLOCK_JAVA_PEER "/classpath",
                "Peer"};
    case maker::kazoo: return {"/usr/bin/python3", "-B", ZKLOCK_PYTHON_PEER};
    case maker::zklock:
    case maker::zklock_direct: return {ZKLOCK_PEER};
    case maker::c_recipe: return {ZKLOCK_C_RECIPE_PEER};
    }
    throw std::logic_error("a peer of nobody");
}

} // namespace

peer_scene::~peer_scene()
{
    report_on_failure("The peers noted:\n" + noted.text());
}

peer::peer(peer_scene& scene, maker of, std::string name, const std::string& servers, milliseconds session_timeout)
    : scene_(scene), of_(of), name_(std::move(name)), servers_(servers)
{
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0)
        throw std::system_error(errno, std::generic_category(), "pipe2");
    unique_fd reading(ends[0]);
    input_ = unique_fd(ends[1]);
    auto command = command_of(of);
    command.insert(command.end(),
                   {name_, servers, std::to_string(session_timeout.count()), scene.noted.file().string()});
    if (of == maker::zklock_direct)
        command.emplace_back("direct");
    process_ = child_process(std::move(command), scene.directory(), scene.directory() / (name_ + ".output"),
                             std::move(reading));
}

peer::~peer()
{
    process_.kill();
    std::ifstream file(scene_.directory() / (name_ + ".output"));
    const std::string text(std::istreambuf_iterator<char>(file), {});
    if (!text.empty())
        report_on_failure(name_ + " printed:\n" + text);
}

void peer::say(const std::string& line)
{
    const std::string whole = line + "\n";
    if (::write(input_.get(), whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
        throw std::system_error(errno, std::generic_category(), "write to " + name_);
}

std::size_t peer::count(const std::string& attempt, const std::string& what)
{
    return scene_.noted.count(name_, attempt, what);
}

peer::handoffs peer::handed_over()
{
    const std::size_t told = count("-", "handoffs");
    say("handoffs");
    wait_until(name_ + " tells of its hand-offs", default_limit, [&] { return count("-", "handoffs") > told; });
    const auto words = scene_.noted.words_of(name_, "-", "handoffs");
    return {std::stoull(words.at(0)), std::stoull(words.at(1))};
}

void peer::kill()
{
    process_.kill();
    scene_.noted.note(name_ + " - killed 0");
}

void peer::quit()
{
    say("quit");
    if (const int status = process_.wait(); status != 0)
        throw std::runtime_error(name_ + " has ended with status " + std::to_string(status));
}

} // namespace zklock::test

#include "interoperation/journal.hpp"

#include "support/unique_fd.hpp"

#include <fcntl.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace zklock::test {

journal::journal(std::filesystem::path file, bool existing) : file_(std::move(file))
{
    if (!existing)
        std::ofstream made(file_);
}

void journal::note(const std::string& line)
{
    const unique_fd fd(::open(file_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC));
    const std::string whole = line + "\n";
    if (!fd || ::write(fd.get(), whole.data(), whole.size()) != static_cast<ssize_t>(whole.size()))
        throw std::system_error(errno, std::generic_category(), file_.string());
}

const std::vector<event>& journal::events()
{
    std::ifstream in(file_);
    in.seekg(static_cast<std::streamoff>(read_));
    for (std::string line; std::getline(in, line) && !in.eof();) {
        read_ += line.size() + 1;
        std::istringstream words(line);
        event e;
        std::string time;
        words >> e.peer >> e.attempt >> e.what >> time;
        e.words.assign(std::istream_iterator<std::string>(words), {});
        events_.push_back(std::move(e));
    }
    return events_;
}

std::size_t journal::count(std::string_view peer, std::string_view attempt, std::string_view what)
{
    const auto& all = events();
    const auto is_meant = [&](const event& e) { return e.peer == peer && e.attempt == attempt && e.what == what; };
    return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), is_meant));
}

void journal::wait_for(const std::string& peer, const std::string& attempt, const std::string& what, milliseconds limit)
{
    wait_until(peer + " " + attempt + " " + what, limit, [&] {
        if (count(peer, attempt, what) != 0)
            return true;
        if (count(peer, attempt, "failed") != 0)
            throw std::runtime_error(peer + " " + attempt + " has failed");
        return false;
    });
}

std::vector<std::string> journal::words_of(std::string_view peer, std::string_view attempt, std::string_view what)
{
    const auto& all = events();
    const auto found = std::find_if(all.rbegin(), all.rend(), [&](const event& e) {
        return e.peer == peer && e.attempt == attempt && e.what == what;
    });
    if (found == all.rend())
        throw std::runtime_error(std::string(peer).append(" did not note: ").append(what));
    return found->words;
}

std::string journal::text() const
{
    std::ifstream in(file_);
    return {std::istreambuf_iterator<char>(in), {}};
}

std::int64_t number_of(std::string_view node)
{
    constexpr std::size_t digits = 10;
    if (node.size() < digits)
        throw std::runtime_error("a node without a number: " + std::string(node));
    return std::stoll(std::string(node.substr(node.size() - digits)));
}

namespace {

constexpr std::size_t whole = ~std::size_t{0}; // exclusive
constexpr std::size_t part = 0;                // shared

struct hold {
    std::string peer, attempt, node;
    std::size_t permits;
};

struct path_state {
    std::vector<hold> inside;
    std::int64_t last_exclusive = -1;
    std::int64_t last = -1; ///< of any kind
    std::string last_node;
};

bool fits(const path_state& at, std::size_t permits, std::size_t limit)
{
    if (permits == whole)
        return at.inside.empty();
    std::size_t taken = 0;
    for (const hold& other : at.inside) {
        if (other.permits == whole)
            return false;
        taken += other.permits;
    }
    return permits == part || taken + permits <= limit;
}

// Whoever excludes comes after all before it, whoever shares after all that exclude; permits have no order that
// their nodes could tell. A node may serve several times in succession.
bool in_order(path_state& at, std::size_t permits, const std::string& node)
{
    if (permits != whole && permits != part)
        return true;
    const auto number = number_of(node);
    const bool sound = node == at.last_node || number > (permits == whole ? at.last : at.last_exclusive);
    at.last = std::max(at.last, number);
    if (permits == whole)
        at.last_exclusive = std::max(at.last_exclusive, number);
    at.last_node = node;
    return sound;
}

} // namespace

std::string violations(const std::vector<event>& events, const std::map<std::string, std::size_t>& permits)
{
    std::map<std::string, path_state> paths;
    std::string wrong;
    for (const event& e : events) {
        const auto of_this = [&](const hold& h) {
            return h.peer == e.peer && (h.attempt == e.attempt || e.what == "killed");
        };
        if (e.what == "granted") {
            const std::string& kind = e.words.at(0);
            const std::string& node = e.words.at(1);
            const std::size_t wanted = kind == "exclusive" ? whole : kind == "shared" ? part : std::stoul(kind);
            const std::string path = node.substr(0, node.rfind('/'));
            auto& at = paths[path];
            const auto limit = permits.find(path);
            if (wanted != whole && wanted != part && limit == permits.end()) {
                wrong += "nobody said how many permits " + path + " has\n";
            } else if (!fits(at, wanted, limit == permits.end() ? 0 : limit->second)) {
                wrong += "inside together: " + e.peer + " " + e.attempt + " with " + node + " and";
                for (const hold& other : at.inside)
                    wrong += " " + other.peer + " " + other.attempt + " with " + other.node;
                wrong += "\n";
            }
            if (!in_order(at, wanted, node))
                wrong += "out of order: " + node + " after " + std::to_string(at.last) + "\n";
            at.inside.push_back({e.peer, e.attempt, node, wanted});
        } else if (e.what == "leaving" || e.what == "killed") {
            for (auto& [path, at] : paths)
                std::erase_if(at.inside, of_this);
        } else if (e.what == "downgrading") {
            for (auto& [path, at] : paths)
                for (hold& h : at.inside)
                    if (of_this(h))
                        h.permits = part;
        }
    }
    return wrong;
}

void expect_sound(journal& noted)
{
    const std::string wrong = violations(noted.events(), noted.permits());
    if (wrong.empty())
        return;
    std::cerr << "The peers noted:\n" << noted.text() << "BROKEN PROMISE:\n" << wrong << std::flush;
    std::abort();
}

} // namespace zklock::test

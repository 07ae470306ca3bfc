// Paths, as users write them: against the table of well-formed UTF-8 and the ranges the servers forbid.
#include "queue/node_path.hpp"
#include "input.hpp"

using namespace zklock;
using fuzz::require;

namespace {

/// How many bytes the well-formed character at the front has, 0 if there is none: the Unicode standard's table 3-7.
std::size_t character(std::string_view text)
{
    struct row {
        unsigned char first_low, first_high, second_low, second_high;
        std::size_t length;
    };
    static constexpr row rows[] = {
        {0x00, 0x7f, 0x00, 0xff, 1}, {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3},
        {0xe1, 0xec, 0x80, 0xbf, 3}, {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
        {0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4}};
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    for (const row& r : rows) {
        if (byte(0) < r.first_low || byte(0) > r.first_high || text.size() < r.length)
            continue;
        if (r.length > 1 && (byte(1) < r.second_low || byte(1) > r.second_high))
            continue;
        for (std::size_t i = 2; i < r.length; ++i)
            if (byte(i) < 0x80 || byte(i) > 0xbf)
                return 0;
        return r.length;
    }
    return 0;
}

/// The servers look at UTF-16 units: a character beyond the first plane is two surrogates to them.
bool allowed(std::string_view c)
{
    const auto in = [&](std::string_view low, std::string_view high) { return c >= low && c <= high; };
    switch (c.size()) {
    case 1: return c[0] >= 0x20 && c[0] != 0x7f;
    case 2: return !in("\xc2\x80", "\xc2\x9f");
    case 3: return !in("\xee\x80\x80", "\xef\xa3\xbf") && !in("\xef\xbf\xb0", "\xef\xbf\xbf");
    default: return false;
    }
}

bool reference(std::string_view path)
{
    if (path.size() < 2 || path.size() > 4096 || path[0] != '/' || path.back() == '/')
        return false;
    for (std::string_view bad : {"//", "/./", "/../"})
        if (path.find(bad) != path.npos)
            return false;
    if (path.ends_with("/.") || path.ends_with("/.."))
        return false;
    while (!path.empty()) {
        const std::size_t length = character(path);
        if (length == 0 || !allowed(path.substr(0, length)))
            return false;
        path.remove_prefix(length);
    }
    return true;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    const std::string path(in.rest());
    const bool valid = queue::valid_path(path);
    require(valid == reference(path), "a path is judged as the reference judges it");
    if (!valid)
        return 0;
    const std::string_view parent = queue::parent_of(path);
    const std::string_view name = queue::name_of(path);
    require(queue::child_of(parent, name) == path, "a path comes apart and goes together again");
    require(!name.empty() && name.find('/') == name.npos, "a name is one component");
    require(parent.empty() || queue::valid_path(parent), "the parent's path is valid");
    return 0;
}

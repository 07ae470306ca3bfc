// The names of a lock's children, which anybody may have made: against a second reading of them, and back from the
// names that zklock asks for.
#include "queue/node_name.hpp"
#include "input.hpp"

#include <cstring>
#include <iterator>
#include <regex>

using namespace zklock;
using fuzz::require;

namespace {

struct place {
    std::int32_t sequence;
    queue::contender_kind kind;
};

/// What the mark before the number says; of ZooKeeper's own recipe, by a pattern.
std::optional<queue::contender_kind> reference_kind(const std::string& prefix)
{
    using enum queue::contender_kind;
    static const std::pair<std::regex, queue::contender_kind> patterns[] = {
        {std::regex("[^]*-w__lock__"), writer},
        {std::regex("[^]*__WRIT__"), writer},
        {std::regex("[^]*__READ__"), reader},
        {std::regex("[^]*__rlock__"), reader},
        {std::regex("[^]*__lock__"), mutex},
        {std::regex("[^]*lock-"), mutex},
        {std::regex("x-(-?[0-9]{1,19}|[0-9a-f]{16})-"), mutex}};
    // The patterns recurse with each character, and only the last ones matter.
    const std::string end = prefix.size() <= 64 ? prefix : "." + prefix.substr(prefix.size() - 64);
    for (const auto& [pattern, kind] : patterns)
        if (std::regex_match(end, pattern))
            return kind;
    return std::nullopt;
}

/// What options add to the names that all heed.
struct added {
    std::string mark;
    std::vector<std::string> heeded;
};

std::optional<queue::contender_kind> reference_kind(std::string_view prefix, const added& more)
{
    if (const auto usual = reference_kind(std::string(prefix)))
        return usual;
    std::vector<std::string> marks = more.heeded;
    if (!more.mark.empty())
        marks.push_back(more.mark);
    for (const std::string& mark : marks) {
        const bool whole = mark.empty() || prefix.size() == mark.size();
        if (whole ? prefix == mark : prefix.size() > mark.size() && prefix.rfind(mark) == prefix.size() - mark.size())
            return queue::contender_kind::mutex;
    }
    return std::nullopt;
}

/// Read from the back, character by character.
std::optional<place> reference(std::string_view name, const added& more = {})
{
    std::uint64_t value = 0;
    std::uint64_t weight = 1;
    for (int digit = 0; digit < 10; ++digit, weight *= 10) {
        if (name.empty() || name.back() < '0' || name.back() > '9')
            return std::nullopt;
        value += static_cast<std::uint64_t>(name.back() - '0') * weight;
        name.remove_suffix(1);
    }
    if (const auto kind = reference_kind(name, more))
        return value <= 0x7fff'ffff ? std::optional(place{static_cast<std::int32_t>(value), *kind}) : std::nullopt;
    if (name.empty() || name.back() != '-')
        return std::nullopt;
    name.remove_suffix(1);
    const auto kind = reference_kind(name, more);
    if (!kind || value > 0x8000'0000)
        return std::nullopt;
    return place{static_cast<std::int32_t>(-static_cast<std::int64_t>(value)), *kind};
}

/// A name against that reading of it, where options add marks.
void compare(std::string_view name, const added& more)
{
    const auto read = queue::name_rules(more.mark, more.heeded).parse(name);
    const auto expected = reference(name, more);
    require(read.has_value() == expected.has_value(), "with added marks, too, the reference says who is a contender");
    if (read)
        require(read->sequence == expected->sequence && read->kind == expected->kind, "and of what kind and number");
}

/// Whatever marks are accepted, names that are made with them give the numbers back, past 2^31 as well.
void check_marks(const std::string& one, const std::string& other, std::int32_t number, const char* digits)
{
    if (queue::fault_of_mark(one) || queue::fault_of_mark(other) || queue::are_ambiguous(one, other))
        return;
    const queue::name_rules rules(one, {other, std::string()});
    for (const naming names : {naming::curator, naming::kazoo}) {
        const std::string prefix =
            rules.prefix(names, queue::contender_kind::mutex, "0f1e2d3c-4b5a-4697-8899-aabbccddeeff");
        const auto own = rules.parse(prefix + digits);
        require(own && own->sequence == number && own->kind == queue::contender_kind::mutex,
                "an own name with a mark gives its number back");
        require(queue::prefix_of(prefix + digits, number) == prefix, "and what was asked for");
        const auto heeded = rules.parse("ab" + other + digits);
        require(other.empty() || (heeded && heeded->sequence == number), "and so does a heeded one");
    }
    const auto bare = rules.parse(digits);
    require(bare && bare->sequence == number, "a name may be the number alone");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size)
{
    fuzz::input in(data, size);
    const auto read = queue::name_rules().parse(in.rest());
    const auto expected = reference(in.rest());
    require(read.has_value() == expected.has_value(), "a name is a contender's if the reference says so");
    if (read)
        require(read->sequence == expected->sequence && read->kind == expected->kind, "and read as it reads it");
    require(queue::name_rules().sequence_of(in.rest()).has_value() == read.has_value(), "with a place, if it is one");

    std::uint32_t bits = 0;
    for (int i = 0; i < 4; ++i)
        bits = bits << 8 | in.byte();
    std::string uuid(in.line());
    uuid.resize(36, '-');
    // A parent's counter past 2^31 is negative, for the first billion with as many digits.
    const auto number = static_cast<std::int32_t>(bits >= 0xc000'0000 ? bits & 0x3fff'ffff : bits);
    char digits[16];
    std::snprintf(digits, sizeof digits, "%010d", number);
    using enum queue::contender_kind;
    for (const naming names : {naming::curator, naming::kazoo}) {
        for (const auto kind : {mutex, writer, reader}) {
            const std::string prefix = queue::name_rules().prefix(names, kind, uuid);
            const auto parsed = queue::name_rules().parse(prefix + digits);
            require(parsed && parsed->sequence == number, "a name zklock asked for gives its number back");
            require(parsed->kind == kind, "and what it is there for");
            require(queue::prefix_of(prefix + digits, number) == prefix, "and what was asked for");
            require(!queue::name_rules().sequence_of(prefix), "what has no number has no place");
        }
        require(queue::reader_name(queue::name_rules().prefix(names, writer, uuid) + digits) ==
                    queue::name_rules().prefix(names, reader, uuid) + digits,
                "a writer turns into a reader that is named like one");
    }

    const std::string one(in.line());
    const std::string other(in.line());
    check_marks(one, other, number, digits);
    const added choices[] = {{one, {}}, {{}, {one}}, {one, {other, std::string()}}};
    const added& more = choices[in.below(std::size(choices))];
    compare(in.rest(), more);
    compare("ab" + other + digits, more);
    compare(one + digits, more);
    return 0;
}

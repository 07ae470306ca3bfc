#include "queue/node_name.hpp"

#include "queue/mutants.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace zklock::queue {
namespace {

struct mark {
    std::string_view text; ///< what stands before the number
    contender_kind kind;
};

// A mark that ends with another one's text comes before it.
constexpr mark curators_lock{"lock-", contender_kind::mutex};
constexpr mark curators_writer{"__WRIT__", contender_kind::writer};
constexpr mark curators_reader{"__READ__", contender_kind::reader};
constexpr mark kazoos_writer{"-w__lock__", contender_kind::writer}; ///< ours only; kazoo takes it for a lock of its own
constexpr mark kazoos_lock{"__lock__", contender_kind::mutex};
constexpr mark kazoos_reader{"__rlock__", contender_kind::reader};
constexpr mark marks[] = {curators_lock, kazoos_writer, kazoos_lock, curators_writer, curators_reader, kazoos_reader};

const mark& mark_of(naming names, contender_kind kind)
{
    const bool curator = names == naming::curator;
    switch (kind) {
    case contender_kind::writer: return curator ? curators_writer : kazoos_writer;
    case contender_kind::reader: return curator ? curators_reader : kazoos_reader;
    case contender_kind::mutex: break;
    }
    return curator ? curators_lock : kazoos_lock;
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// `x-<session>-`, the session as the Java recipe writes it (decimal, perhaps negative) or the one in C (16 hex
/// digits).
bool is_of_write_lock(std::string_view prefix)
{
    if (!prefix.starts_with("x-") || !prefix.ends_with('-') || prefix.size() < 4)
        return false;
    std::string_view session = prefix.substr(2, prefix.size() - 3);
    const auto is_hex = [](char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); };
    if (session.size() == 16 && std::all_of(session.begin(), session.end(), is_hex))
        return true;
    if (session.starts_with('-'))
        session.remove_prefix(1);
    return !session.empty() && session.size() <= 19 && std::all_of(session.begin(), session.end(), is_digit);
}

std::optional<contender_kind> kind_of(std::string_view prefix)
{
    for (const mark& m : marks)
        if (prefix.ends_with(m.text))
            return m.kind;
    if (is_of_write_lock(prefix))
        return contender_kind::mutex;
    return std::nullopt;
}

} // namespace

std::string name_prefix(naming names, contender_kind kind, std::string_view uuid)
{
    const std::string_view mark = mark_of(names, kind).text;
    if (names == naming::curator) {
        std::string prefix;
        prefix.reserve(uuid.size() + mark.size() + sizeof "_c_-" - 1 + sequence_digits);
        prefix.append("_c_").append(uuid).append("-").append(mark);
        return prefix;
    }
    std::string hex(uuid);
    std::erase(hex, '-');
    return hex.append(mark);
}

std::optional<contender_name> parse_name(std::string_view child) noexcept
{
    if (child.size() < sequence_digits)
        return std::nullopt;
    const std::string_view number = child.substr(child.size() - sequence_digits);
    if (!std::all_of(number.begin(), number.end(), is_digit))
        return std::nullopt;
    std::string_view prefix = child.substr(0, child.size() - sequence_digits);

    if (ZKLOCK_MUTANT(every_number_is_a_contender))
        prefix = curators_lock.text;
    bool negative = false;
    auto kind = kind_of(prefix);
    if (!kind) {
        if (!prefix.ends_with('-'))
            return std::nullopt;
        prefix.remove_suffix(1); // the sign of a number that has overflowed
        negative = true;
        kind = kind_of(prefix);
        if (!kind)
            return std::nullopt;
    }
    std::int64_t value = 0;
    std::from_chars(number.data(), number.data() + number.size(), value);
    if (negative)
        value = -value;
    if (value < std::numeric_limits<std::int32_t>::min() || value > std::numeric_limits<std::int32_t>::max())
        return std::nullopt;
    return contender_name{static_cast<std::int32_t>(value), *kind};
}

std::optional<std::int32_t> sequence_of(std::string_view child) noexcept
{
    const auto name = parse_name(child);
    return name ? std::optional(name->sequence) : std::nullopt;
}

std::string reader_name(std::string_view writer)
{
    const std::string_view prefix = prefix_of(writer, sequence_of(writer).value_or(0));
    const bool curator = prefix.ends_with(curators_writer.text);
    const mark& from = curator ? curators_writer : kazoos_writer;
    const mark& to = curator ? curators_reader : kazoos_reader;
    std::string reader(prefix.substr(0, prefix.size() - from.text.size()));
    return reader.append(to.text).append(writer.substr(prefix.size()));
}

std::string_view prefix_of(std::string_view child, std::int32_t sequence) noexcept
{
    const std::size_t sign = sequence < 0 ? 1 : 0;
    return child.substr(0, child.size() - sequence_digits - sign);
}

std::vector<std::string> holders_of(const std::vector<std::string>& children)
{
    struct contender {
        contender_name read;
        const std::string* name;
    };
    const auto before = [](const contender& a, const contender& b) {
        return std::tie(a.read.sequence, *a.name) < std::tie(b.read.sequence, *b.name);
    };
    std::vector<contender> all;
    for (const std::string& child : children)
        if (const auto name = parse_name(child))
            all.push_back({*name, &child});
    const auto first = std::min_element(all.begin(), all.end(), before);
    if (first == all.end())
        return {};
    // There may be many that wait: only those who hold are put in order.
    std::swap(*first, all.front());
    const contender_name head = all.front().read;
    const auto waits = [&head](const contender& other) {
        return !is_shared(other.read.kind) || (!is_shared(head.kind) && other.read.sequence != head.sequence);
    };
    const auto others = all.begin() + 1;
    const auto waiting = std::partition(others, all.end(), [&waits](const contender& c) { return !waits(c); });
    const auto first_that_waits = std::min_element(waiting, all.end(), before);
    const auto end = first_that_waits == all.end()
                         ? waiting
                         : std::partition(others, waiting,
                                          [&](const contender& c) { return before(c, *first_that_waits); });
    std::sort(others, end, before);
    std::vector<std::string> holders;
    holders.reserve(static_cast<std::size_t>(end - all.begin()));
    std::transform(all.begin(), end, std::back_inserter(holders), [](const contender& c) { return *c.name; });
    return holders;
}

} // namespace zklock::queue

#include "queue/node_name.hpp"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <tuple>
#include <utility>

namespace zklock::queue {
namespace {

/// What comes before the uuid in the name of a "protected" create.
constexpr std::string_view curators = "_c_";

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

bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

bool is_hex(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'f');
}

/// `x-<session>-`, the session as the Java recipe writes it (decimal, perhaps negative) or the one in C (16 hex
/// digits).
bool is_of_write_lock(std::string_view prefix)
{
    if (!prefix.starts_with("x-") || !prefix.ends_with('-') || prefix.size() < 4)
        return false;
    std::string_view session = prefix.substr(2, prefix.size() - 3);
    if (session.size() == 16 && std::all_of(session.begin(), session.end(), is_hex))
        return true;
    if (session.starts_with('-'))
        session.remove_prefix(1);
    return !session.empty() && session.size() <= 19 && std::all_of(session.begin(), session.end(), is_digit);
}

/// The kind of a contender by the names that all heed.
std::optional<contender_kind> usual_kind(std::string_view prefix)
{
    for (const mark& m : marks)
        if (prefix.ends_with(m.text))
            return m.kind;
    if (is_of_write_lock(prefix))
        return contender_kind::mutex;
    return std::nullopt;
}

/// Whether a number past 2^31 behind `plain` could be one before it behind `dashed`, which ends with the sign.
bool differ_by_a_sign(std::string_view plain, std::string_view dashed)
{
    if (plain.empty() || !dashed.ends_with('-'))
        return false; // names that are the number alone have nothing before the sign
    dashed.remove_suffix(1);
    return dashed.ends_with(plain) || plain.ends_with(dashed);
}

} // namespace

std::optional<std::string_view> fault_of_mark(std::string_view text) noexcept
{
    constexpr std::string_view signs = "told from \"lock-\" by more than a '-' at the end, not be one alone, and not "
                                       "end with two: numbers past 2^31 begin with that sign";
    if (!text.empty() && is_digit(text.back()))
        return "without a digit at its end: nobody could tell where the number begins";
    for (const mark& usual : marks) {
        if (usual.kind != contender_kind::mutex && text.ends_with(usual.text))
            return "another than those of readers and writers, which a mutex heeds, and has not for itself";
        if (are_ambiguous(text, usual.text))
            return signs;
    }
    // WriteLock's names end with two before a number past 2^31.
    return text.ends_with("--") || are_ambiguous(text, text) ? std::optional(signs) : std::nullopt;
}

bool are_ambiguous(std::string_view one, std::string_view other) noexcept
{
    return differ_by_a_sign(one, other) || differ_by_a_sign(other, one);
}

name_rules::name_rules(const std::string& mark, const std::vector<std::string>& also_heeds)
{
    if (mark.empty() && also_heeds.empty())
        return;
    additions more{mark, also_heeds};
    std::sort(more.heeded.begin(), more.heeded.end());
    more.heeded.erase(std::unique(more.heeded.begin(), more.heeded.end()), more.heeded.end());
    more_ = std::make_shared<const additions>(std::move(more));
}

bool operator==(const name_rules& a, const name_rules& b) noexcept
{
    return a.more_ == b.more_ || (a.more_ && b.more_ && *a.more_ == *b.more_);
}

std::vector<std::string> name_rules::also_heeds() const
{
    return more_ ? more_->heeded : std::vector<std::string>();
}

std::optional<contender_kind> name_rules::kind_of(std::string_view before_the_number) const noexcept
{
    const auto usual = usual_kind(before_the_number);
    if (usual || !more_)
        return usual;
    const auto fits = [before_the_number](const std::string& mark) {
        if (mark.empty())
            return before_the_number.empty();
        return before_the_number.ends_with(mark);
    };
    const bool ours = !more_->mark.empty() && fits(more_->mark);
    if (ours || std::ranges::any_of(more_->heeded, fits))
        return contender_kind::mutex;
    return std::nullopt;
}

std::string name_rules::prefix(naming names, contender_kind kind, std::string uuid) const
{
    const bool own = !mark().empty() && kind == contender_kind::mutex;
    const std::string_view before_the_number = own ? mark() : mark_of(names, kind).text;
    if (names == naming::curator)
        uuid.insert(0, curators).append(own ? "" : "-");
    else
        std::erase(uuid, '-');
    uuid.append(before_the_number);
    return uuid;
}

std::optional<contender_name> name_rules::parse(std::string_view child) const noexcept
{
    if (child.size() < sequence_digits)
        return std::nullopt;
    const std::string_view number = child.substr(child.size() - sequence_digits);
    if (!std::all_of(number.begin(), number.end(), is_digit))
        return std::nullopt;
    std::string_view prefix = child.substr(0, child.size() - sequence_digits);

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

std::optional<std::int32_t> name_rules::sequence_of(std::string_view child) const noexcept
{
    const auto name = parse(child);
    return name ? std::optional(name->sequence) : std::nullopt;
}

std::string reader_name(std::string_view writer)
{
    const std::string_view prefix = prefix_of(writer, name_rules().sequence_of(writer).value_or(0));
    const bool curator = prefix.ends_with(curators_writer.text);
    const mark& from = curator ? curators_writer : kazoos_writer;
    const mark& to = curator ? curators_reader : kazoos_reader;
    std::string reader(prefix.substr(0, prefix.size() - from.text.size()));
    return reader.append(to.text).append(writer.substr(prefix.size()));
}

std::optional<std::array<char, 36>> uuid_of(std::string_view child) noexcept
{
    std::array<char, 36> uuid; // what is no dash is replaced
    std::string_view("xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx").copy(uuid.data(), uuid.size());
    const bool dashed = child.starts_with(curators);
    if (dashed)
        child.remove_prefix(curators.size());
    for (char& c : uuid) {
        if (c == '-' && !dashed)
            continue;
        if (child.empty() || !(c == '-' ? child.front() == '-' : is_hex(child.front())))
            return std::nullopt;
        c = child.front();
        child.remove_prefix(1);
    }
    return uuid;
}

std::string_view uuid_part(std::string_view child) noexcept
{
    constexpr std::size_t digits = 32, with_dashes = 36;
    return child.starts_with(curators) ? child.substr(curators.size(), with_dashes) : child.substr(0, digits);
}

bool has_uuid(std::string_view child, const std::array<char, 36>& uuid) noexcept
{
    if (child.starts_with(curators)) // which saves the look at each character, at each release
        return uuid_part(child) == std::string_view(uuid.data(), uuid.size());
    return uuid_of(child) == uuid;
}

std::string_view prefix_of(std::string_view child, std::int32_t sequence) noexcept
{
    const std::size_t sign = sequence < 0 ? 1 : 0;
    return child.substr(0, child.size() - sequence_digits - sign);
}

std::vector<std::string> name_rules::holders_of(const std::vector<std::string>& children) const
{
    std::vector<std::tuple<std::int32_t, std::string_view, contender_kind>> all;
    for (const std::string& child : children)
        if (const auto name = parse(child))
            all.emplace_back(name->sequence, child, name->kind);
    std::sort(all.begin(), all.end());
    std::vector<std::string> holders;
    for (const auto& [sequence, name, kind] : all) {
        const auto& [first, unused, firsts] = all.front();
        const bool beside_the_first = is_shared(kind) && (is_shared(firsts) || sequence == first);
        if (!holders.empty() && !beside_the_first)
            break;
        holders.emplace_back(name);
    }
    return holders;
}

} // namespace zklock::queue

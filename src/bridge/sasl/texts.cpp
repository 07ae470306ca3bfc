#include "bridge/sasl/texts.hpp"

#include <boost/algorithm/string/case_conv.hpp>

#include <algorithm>
#include <locale>
#include <utility>

namespace zklock::bridge {

namespace {

/// Takes what a challenge has from its beginning.
class challenge_reader {
public:
    explicit challenge_reader(std::string_view text) noexcept : rest_(text) {}

    [[nodiscard]] bool at_end() const noexcept { return rest_.empty(); }

    void skip_spaces() noexcept { rest_.remove_prefix(std::min(rest_.find_first_not_of(" \t\r\n"), rest_.size())); }

    bool take(char c) noexcept
    {
        if (!rest_.starts_with(c))
            return false;
        rest_.remove_prefix(1);
        return true;
    }

    /// What is neither separator nor space.
    std::string token()
    {
        const auto end = rest_.find_first_of("=,\" \t\r\n");
        std::string found(rest_.substr(0, end));
        rest_.remove_prefix(found.size());
        return found;
    }

    /// The rest of what stands between quotation marks.
    std::optional<std::string> until_quote()
    {
        std::string found;
        while (!rest_.empty()) {
            if (take('"'))
                return found;
            if (take('\\') && rest_.empty())
                break;
            found += rest_.front();
            rest_.remove_prefix(1);
        }
        return std::nullopt;
    }

private:
    std::string_view rest_;
};

} // namespace

std::optional<secret> in_latin_1(std::string_view utf_8)
{
    secret text;
    text.edit().reserve(utf_8.size()); // so no part of it stays behind elsewhere
    for (std::size_t i = 0; i < utf_8.size(); ++i) {
        auto byte = static_cast<unsigned char>(utf_8[i]);
        if (byte >= 0x80) { // two bytes have the characters up to 0xff
            if ((byte != 0xc2 && byte != 0xc3) || i + 1 == utf_8.size())
                return std::nullopt;
            const auto next = static_cast<unsigned char>(utf_8[++i]);
            if ((next & 0xc0) != 0x80)
                return std::nullopt;
            byte = static_cast<unsigned char>((byte & 3) << 6 | (next & 0x3f));
        }
        text.edit() += static_cast<char>(byte);
    }
    return text;
}

std::optional<std::map<std::string, std::string>> read_directives(std::string_view text)
{
    std::map<std::string, std::string> all;
    challenge_reader reader(text);
    for (;;) {
        do
            reader.skip_spaces();
        while (reader.take(','));
        if (reader.at_end())
            return all;
        std::string name = reader.token();
        boost::algorithm::to_lower(name, std::locale::classic());
        reader.skip_spaces();
        if (name.empty() || !reader.take('='))
            return std::nullopt;
        reader.skip_spaces();
        auto value = reader.take('"') ? reader.until_quote() : std::optional(reader.token());
        if (!value)
            return std::nullopt;
        if (!all.emplace(name, std::move(*value)).second && name != "realm")
            return std::nullopt;
        reader.skip_spaces();
        if (!reader.at_end() && !reader.take(','))
            return std::nullopt;
    }
}

} // namespace zklock::bridge

#include "bridge/peers/node_id.hpp"

#include <charconv>
#include <cstddef>
#include <string_view>

namespace zklock::bridge::peering {

namespace {

constexpr std::array<std::size_t, 16> digit_places{0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34};

} // namespace

std::optional<node_id> id_of(const store::commitment& text) noexcept
{
    node_id id{};
    for (std::size_t i = 0; i < id.size(); ++i)
        std::from_chars(&text[digit_places[i]], &text[digit_places[i]] + 2, id[i], 16);
    return text_of(id) == text ? std::optional(id) : std::nullopt;
}

store::commitment text_of(const node_id& id) noexcept
{
    constexpr std::string_view digits = "0123456789abcdef";
    store::commitment text;
    text.fill('-');
    for (std::size_t i = 0; i < id.size(); ++i) {
        text[digit_places[i]] = digits[id[i] >> 4];
        text[digit_places[i] + 1] = digits[id[i] & 0xf];
    }
    return text;
}

node_id shaped(const std::array<std::uint8_t, 32>& hash) noexcept
{
    // A uuid's six fixed bits stand in its seventh and ninth byte; the hash's bits go around them.
    const auto eight_bits_from = [&hash](std::size_t bit) {
        const unsigned two_bytes = static_cast<unsigned>(hash[bit / 8]) << 8 | hash[bit / 8 + 1];
        return static_cast<std::uint8_t>(two_bytes >> (8 - bit % 8));
    };
    node_id id{};
    for (std::size_t i = 0; i < 6; ++i)
        id[i] = hash[i];
    id[6] = static_cast<std::uint8_t>(0x40U | eight_bits_from(48) >> 4);
    id[7] = eight_bits_from(52);
    id[8] = static_cast<std::uint8_t>(0x80U | eight_bits_from(60) >> 2);
    for (std::size_t i = 9; i < id.size(); ++i)
        id[i] = eight_bits_from(66 + 8 * (i - 9));
    return id;
}

} // namespace zklock::bridge::peering

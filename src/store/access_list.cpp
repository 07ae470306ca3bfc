#include "zklock/node.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace zklock {

namespace {

using digest = std::array<std::uint8_t, 20>;

/// Takes one block of 64 bytes into the state of a SHA-1 (FIPS 180-4).
void take_block(std::array<std::uint32_t, 5>& state, const char* block)
{
    std::array<std::uint32_t, 80> w{};
    for (std::size_t i = 0; i < 16; ++i)
        for (std::size_t byte = 0; byte < 4; ++byte)
            w[i] = w[i] << 8 | static_cast<std::uint8_t>(block[4 * i + byte]);
    for (std::size_t i = 16; i < w.size(); ++i)
        w[i] = std::rotl(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = state;
    for (std::size_t i = 0; i < w.size(); ++i) {
        const std::uint32_t f = i < 20   ? (b & c) | (~b & d)
                                : i < 40 ? b ^ c ^ d
                                : i < 60 ? (b & c) | (b & d) | (c & d)
                                         : b ^ c ^ d;
        constexpr std::uint32_t k[] = {0x5a827999, 0x6ed9eba1, 0x8f1bbcdc, 0xca62c1d6};
        const std::uint32_t next = std::rotl(a, 5) + f + e + k[i / 20] + w[i];
        e = std::exchange(d, std::exchange(c, std::rotl(std::exchange(b, std::exchange(a, next)), 30)));
    }
    const std::uint32_t more[] = {a, b, c, d, e};
    for (std::size_t i = 0; i < state.size(); ++i)
        state[i] += more[i];
}

digest sha1(std::string text)
{
    const std::uint64_t bits = text.size() * 8;
    text += '\x80';
    text.append((64 + 56 - text.size() % 64) % 64, '\0');
    for (int shift = 56; shift >= 0; shift -= 8)
        text += static_cast<char>(bits >> shift & 0xff);
    std::array<std::uint32_t, 5> state{0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476, 0xc3d2e1f0};
    for (std::size_t at = 0; at < text.size(); at += 64)
        take_block(state, text.data() + at);
    digest result{};
    for (std::size_t i = 0; i < result.size(); ++i)
        result[i] = static_cast<std::uint8_t>(state[i / 4] >> (24 - 8 * (i % 4)));
    return result;
}

/// In base 64, as servers write it.
std::string in_base64(const digest& bytes)
{
    constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    std::string text;
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        std::uint32_t three = 0;
        for (std::size_t i = 0; i < 3; ++i)
            three = three << 8 | (at + i < bytes.size() ? bytes[at + i] : 0U);
        for (std::size_t i = 0; i < 4; ++i)
            text += at + i <= bytes.size() ? letters[three >> (18 - 6 * i) & 63] : '=';
    }
    return text;
}

std::vector<access_entry> entries_of(acl which)
{
    const access_entry creator{"auth", ""};
    switch (which) {
    case acl::open: return {{"world", "anyone"}};
    case acl::creator_all: return {creator};
    case acl::creator_all_or_read: return {creator, {"world", "anyone", permission::read}};
    }
    return {}; // a number that is none of them: such a list is refused
}

std::string letters_of(unsigned allowed)
{
    constexpr std::pair<unsigned, char> letters[] = {{permission::create, 'c'},
                                                     {permission::remove, 'd'},
                                                     {permission::read, 'r'},
                                                     {permission::write, 'w'},
                                                     {permission::admin, 'a'}};
    std::string text;
    for (const auto& [one, letter] : letters)
        if (allowed & one)
            text += letter;
    return text;
}

} // namespace

access_entry::access_entry(std::string the_scheme, std::string the_id, unsigned what_is_allowed)
    : scheme(std::move(the_scheme)), id(std::move(the_id)), allowed(what_is_allowed)
{
}

access_entry digest_entry(std::string_view user, std::string_view password, unsigned allowed)
{
    std::string id(user);
    id += ':';
    std::string secret = id;
    secret += password;
    id += in_base64(sha1(std::move(secret)));
    return {"digest", std::move(id), allowed};
}

access_list::access_list(acl which) : entries_(entries_of(which)) {}
access_list::access_list(std::initializer_list<access_entry> entries) : entries_(entries) {}
access_list::access_list(std::vector<access_entry> entries) : entries_(std::move(entries)) {}

std::string to_string(const access_list& list)
{
    std::string text;
    for (const access_entry& entry : list.entries()) {
        text += text.empty() ? "" : ", ";
        text += entry.scheme;
        text += ':';
        if (entry.scheme == "digest")
            text.append(entry.id, 0, entry.id.find(':'));
        else
            text += entry.id;
        if (entry.scheme != "auth") // of which the id does not count
            text += ':';
        text += letters_of(entry.allowed);
    }
    return text;
}

} // namespace zklock

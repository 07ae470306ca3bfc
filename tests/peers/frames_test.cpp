#include "peers_scene.hpp"

using namespace zklock::test;
using namespace zklock::bridge::peering;

TEST_SUITE("peers: frames")
{
    TEST_CASE("what was written is read, however it is cut")
    {
        const std::string stream = test::wish(peering::wish::subscribe, 7) + test::wish(peering::wish::unsubscribe, 8);
        for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
            CAPTURE(piece);
            frame_reader<wish_frame> reader;
            std::vector<wish_frame> read;
            for (std::size_t from = 0; from < stream.size(); from += piece) {
                const std::string part = stream.substr(from, piece);
                bytes in = bytes_of(part);
                while (const auto frame = reader.next(in))
                    read.push_back(*frame);
                CHECK(in.empty());
            }
            REQUIRE(read.size() == 2);
            CHECK(read[0].what == peering::wish::subscribe);
            CHECK(read[0].of == node(7));
            CHECK(read[1].what == peering::wish::unsubscribe);
            CHECK(read[1].of == node(8));
        }
    }

    TEST_CASE("a frame of another kind is none")
    {
        for (int mark = 0; mark < 256; ++mark) {
            const auto first = static_cast<std::uint8_t>(mark);
            CHECK(is_valid(wish_frame{peering::wish{first}, {}}) == (mark == 1 || mark == 2));
            CHECK(is_valid(certificate_frame{first, {}}) == (mark == 3));
        }
    }

    TEST_CASE("a commitment is a version 4 uuid of the hash's first 122 bits")
    {
        std::array<std::uint8_t, 32> hash{};
        CHECK(std::string(store::text(text_of(shaped(hash)))) == "00000000-0000-4000-8000-000000000000");
        hash.fill(0xff);
        CHECK(std::string(store::text(text_of(shaped(hash)))) == "ffffffff-ffff-4fff-bfff-ffffffffffff");
        // Each of the first 122 bits changes one bit of it, each another; no other bit changes anything.
        std::array<std::uint8_t, 32> none{};
        std::vector<node_id> seen;
        for (std::size_t bit = 0; bit < 256; ++bit) {
            auto one = none;
            one[bit / 8] = static_cast<std::uint8_t>(0x80U >> bit % 8);
            const node_id id = shaped(one);
            if (bit >= 122) {
                CHECK(id == shaped(none));
                continue;
            }
            CHECK(id != shaped(none));
            CHECK(std::count(seen.begin(), seen.end(), id) == 0);
            seen.push_back(id);
        }
    }

    TEST_CASE("a commitment's text and its bytes are the same")
    {
        store::commitment text{};
        std::ranges::copy(std::string_view("0f1e2d3c-4b5a-4697-8899-aabbccddeeff"), text.begin());
        const auto id = id_of(text);
        REQUIRE(id);
        CHECK(text_of(*id) == text);
        for (std::size_t i = 0; i < text.size(); ++i) {
            CAPTURE(i);
            auto wrong = text;
            wrong[i] = wrong[i] == '-' ? '0' : 'A';
            CHECK_FALSE(id_of(wrong));
        }
    }
}

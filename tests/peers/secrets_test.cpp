#include "bridge/peers/secrets.hpp"

#include <doctest/doctest.h>

#include <set>
#include <string>
#include <vector>

using namespace zklock;
using namespace zklock::bridge::peering;

TEST_SUITE("peers: secrets")
{
    TEST_CASE("a commitment is made of the secret's SHA-256")
    {
        const secret_source source;
        store::node_secret zeros{};
        // 66687aad f862bd77 6c8fc18b 8e9f8e20 ... is the hash of 32 zeros; 122 bits go around version and variant.
        CHECK(std::string(store::text(text_of(source.commitment_to(zeros)))) == "66687aad-f862-4bd7-9db2-3f062e3a7e38");
    }

    TEST_CASE("secrets and commitments differ, within a client and between clients")
    {
        secret_source one, other;
        std::set<store::node_secret> secrets;
        std::set<node_id> commitments;
        for (int i = 0; i < 100; ++i)
            for (auto* source : {&one, &other})
                for (const auto& made : source->make()) {
                    CHECK(secrets.insert(made.secret).second);
                    CHECK(commitments.insert(made.commitment).second);
                    CHECK(made.commitment == one.commitment_to(made.secret));
                    CHECK(made.commitment == other.commitment_to(made.secret));
                }
    }

    TEST_CASE("what is known when it is told is not hashed again")
    {
        secret_source source;
        told_secrets told(source);
        const auto secret = source.make().front().secret;
        const node_id some{1}; // no hash is like that
        told.keep_first_told(secret, some);
        CHECK(told.commitment_to(secret) == some);
        CHECK(told.keep(secret) == some);
    }

    TEST_CASE("what was told lately has the commitment that it always had, also after many others")
    {
        secret_source source;
        told_secrets told(source);
        std::vector<store::node_secret> secrets{store::node_secret{}};
        while (secrets.size() < 100)
            for (const auto& made : source.make())
                secrets.push_back(made.secret);
        for (std::size_t back : {0U, 1U, 30U, 31U, 32U, 33U, 70U})
            for (std::size_t i = 0; i < secrets.size(); ++i) {
                CAPTURE(i);
                CAPTURE(back);
                const auto& now = secrets[i];
                CHECK(told.keep(now) == source.commitment_to(now));
                CHECK(told.commitment_to(now) == source.commitment_to(now));
                const auto& earlier = secrets[i < back ? 0 : i - back];
                CHECK(told.commitment_to(earlier) == source.commitment_to(earlier));
            }
    }
}

#include "bridge/peers/secrets.hpp"

#include <algorithm>
#include <cstdint>
#include <new>
#include <span>
#include <stdexcept>

#include <openssl/evp.h>
#include <openssl/rand.h>

namespace zklock::bridge::peering {

/// SHA-256. What OpenSSL needs for it is found once, which takes longer than to hash.
struct secret_source::digest {
    std::unique_ptr<EVP_MD, void (*)(EVP_MD*)> algorithm{EVP_MD_fetch(nullptr, "SHA256", nullptr), &EVP_MD_free};
    std::unique_ptr<EVP_MD_CTX, void (*)(EVP_MD_CTX*)> context{EVP_MD_CTX_new(), &EVP_MD_CTX_free};

    digest()
    {
        if (!algorithm || !context)
            throw std::bad_alloc();
    }
    [[nodiscard]] std::array<std::uint8_t, 32> of(std::span<const std::uint8_t> bytes) const
    {
        std::array<std::uint8_t, 32> hash{};
        if (EVP_DigestInit_ex2(context.get(), algorithm.get(), nullptr) != 1 ||
            EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) != 1 ||
            EVP_DigestFinal_ex(context.get(), hash.data(), nullptr) != 1)
            throw std::bad_alloc();
        return hash;
    }
};

secret_source::secret_source() : digest_(std::make_unique<digest>())
{
    if (RAND_status() != 1)
        throw std::runtime_error("OpenSSL has no source of random bytes");
}
secret_source::~secret_source() = default;

auto secret_source::make() const -> std::array<committed_secret, at_once>
{
    std::array<store::node_secret, at_once> secrets;
    if (RAND_priv_bytes(secrets.front().data(), sizeof secrets) != 1)
        throw std::bad_alloc(); // there was randomness at first
    std::array<committed_secret, at_once> made;
    std::ranges::transform(secrets, made.begin(), [this](const store::node_secret& each) {
        return committed_secret{each, commitment_to(each)};
    });
    return made;
}

node_id secret_source::commitment_to(const store::node_secret& secret) const
{
    return shaped(digest_->of(secret));
}

auto told_secrets::find(const store::node_secret& secret) const noexcept -> const told*
{
    // From the end: what comes again was told of late.
    const auto found = std::ranges::find(last_.rbegin(), last_.rend(), secret, &told::secret);
    return found == last_.rend() ? nullptr : &*found;
}

node_id told_secrets::commitment_to(const store::node_secret& secret) const
{
    const told* const known = find(secret);
    return known ? known->commitment : hashes_.commitment_to(secret);
}

node_id told_secrets::keep(const store::node_secret& secret)
{
    if (const told* const known = find(secret))
        return known->commitment;
    const node_id commitment = hashes_.commitment_to(secret);
    last_.push_back({secret, commitment});
    return commitment;
}

void told_secrets::keep_first_told(const store::node_secret& secret, const node_id& commitment) noexcept
{
    last_.push_back({secret, commitment});
}

} // namespace zklock::bridge::peering

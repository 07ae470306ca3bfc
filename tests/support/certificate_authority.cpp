#include "support/certificate_authority.hpp"

#include "support/authority.hpp"

#include <fstream>
#include <stdexcept>

namespace zklock::test {

namespace {

std::string written(const std::filesystem::path& path, const std::string& text)
{
    std::ofstream file(path);
    file << text;
    if (!file.flush())
        throw std::runtime_error("cannot write " + path.string());
    return path;
}

} // namespace

certificate_authority::certificate_authority(const std::string& name) : signs_(std::make_unique<authority>(name))
{
    written(file(), signs_->certificate());
}

certificate_authority::~certificate_authority() = default;

certified certificate_authority::certify(const certificate_wish& wish)
{
    certificate_request request;
    request.common_name = wish.common_name;
    request.names = wish.names;
    if (wish.expired)
        request.from = -7'200, request.until = -3'600;
    const identity made = signs_->issue(request);
    const std::string key = wish.key_password.empty() ? made.key : encrypted(made.key, wish.key_password);
    const std::filesystem::path place = directory_.path() / std::to_string(count_++);
    return {.certificate = written(place.string() + ".pem", made.certificate),
            .key = written(place.string() + ".key", key),
            .store = written(place.string() + "-store.pem", key + made.certificate)};
}

certificate_authority& usual_authority()
{
    static certificate_authority one;
    return one;
}

} // namespace zklock::test

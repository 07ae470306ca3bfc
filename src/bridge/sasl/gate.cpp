#include "bridge/sasl/gate.hpp"
#include "bridge/wire/connect_response.hpp"

#include <boost/endian/arithmetic.hpp>
#include <boost/endian/conversion.hpp>

#include <utility>

namespace zklock::bridge {

namespace {

namespace layout = connect_response;

constexpr std::size_t length_size = 4;
constexpr std::size_t most_kept = 64 * 1024; // of what the client writes after its request

// A request has a number of its own and its kind, an answer the number and, behind the server's counter, an error.
// Then both have a buffer, of length -1 where there is none.
constexpr std::uint32_t number = 0;
constexpr std::uint32_t kind_sasl = 102;
constexpr std::size_t error_at = 12;
constexpr std::size_t buffer_at = 16;
constexpr std::size_t bytes_at = 20;

constexpr std::int32_t authentication_failed = -115;
constexpr std::int32_t authentication_enforced = -124;

std::uint32_t number_at(std::string_view bytes, std::size_t place)
{
    return boost::endian::load_big_u32(reinterpret_cast<const unsigned char*>(bytes.data() + place));
}

std::int32_t signed_at(std::string_view bytes, std::size_t place)
{
    return static_cast<std::int32_t>(number_at(bytes, place));
}

} // namespace

sasl_gate::sasl_gate(std::unique_ptr<mechanism> by) : by_(std::move(by)) {}

void sasl_gate::from_client(std::string_view bytes)
{
    if (state_ == state::open)
        to_server_ += bytes;
    if (state_ == state::open || state_ == state::failed)
        return;
    from_client_ += bytes;
    if (!requested_ && from_client_.size() >= length_size) {
        const std::size_t size = number_at(from_client_, 0);
        if (size > longest_request) {
            fail(sasl_failure::broken, "the C client's request for a session has " + std::to_string(size) + " bytes");
            return;
        }
        if (from_client_.size() < length_size + size)
            return;
        to_server_ += from_client_.substr(0, length_size + size);
        from_client_.erase(0, length_size + size);
        requested_ = true;
    }
    if (from_client_.size() > most_kept)
        fail(sasl_failure::broken, "the C client has written too much before it had a session");
}

void sasl_gate::from_server(std::string_view bytes)
{
    if (state_ == state::open)
        to_client_ += bytes;
    if (state_ == state::open || state_ == state::failed)
        return;
    from_server_ += bytes;
    if (state_ == state::asking)
        look_at_response();
    while (state_ == state::authenticating && look_at_answer()) {
    }
}

void sasl_gate::server_ended()
{
    if (state_ == state::asking)
        open();
    else if (state_ == state::authenticating)
        fail(sasl_failure::broken, "the server has hung up before it was done");
}

void sasl_gate::sent_to_server(std::size_t bytes) noexcept
{
    to_server_.erase(0, bytes);
}

void sasl_gate::sent_to_client(std::size_t bytes) noexcept
{
    to_client_.erase(0, bytes);
}

void sasl_gate::look_at_response()
{
    if (!layout::may_begin(from_server_)) {
        open();
        return;
    }
    if (from_server_.size() < layout::header_end)
        return;
    const std::size_t size = length_size + number_at(from_server_, 0);
    const std::int32_t time_out = signed_at(from_server_, layout::version_end);
    if (time_out <= 0) {
        open();
        return;
    }
    if (from_server_.size() < size)
        return;
    response_ = from_server_.substr(0, size);
    from_server_.erase(0, size);
    granted_ = std::chrono::milliseconds(time_out);
    state_ = state::authenticating;
    send_token(by_->first());
}

/// Takes the next answer. False if it is not complete.
bool sasl_gate::look_at_answer()
{
    if (from_server_.size() < length_size)
        return false;
    const std::size_t size = number_at(from_server_, 0);
    if (size < buffer_at || size > longest_answer)
        return fail(sasl_failure::broken,
                    "the server has sent what is no answer to SASL, of " + std::to_string(size) + " bytes");
    if (from_server_.size() < length_size + size)
        return false;
    const std::string answer = from_server_.substr(length_size, size);
    from_server_.erase(0, length_size + size);
    if (number_at(answer, 0) != number)
        return fail(sasl_failure::broken, "the server has sent what is no answer to SASL, of the number " +
                                              std::to_string(signed_at(answer, 0)));
    if (const std::int32_t error = signed_at(answer, error_at); error != 0)
        return refused(error);
    const bool has_buffer = answer.size() >= bytes_at && signed_at(answer, buffer_at) != -1;
    if (answer.size() != bytes_at + (has_buffer ? number_at(answer, buffer_at) : 0))
        return fail(sasl_failure::broken, "the server's answer to SASL is not as long as it says");
    take(std::string_view(answer).substr(bytes_at));
    return true;
}

bool sasl_gate::refused(std::int32_t error)
{
    const std::string number_of_it = " (error " + std::to_string(error) + ")";
    if (error != authentication_failed && error != authentication_enforced)
        return fail(sasl_failure::broken, "the server could not go on with it" + number_of_it);
    sasl_step why = by_->refused();
    return fail(why.by, std::move(why.text) + number_of_it);
}

void sasl_gate::take(std::string_view challenge)
{
    if (++steps_ > most_steps) {
        fail(sasl_failure::broken, "the server comes to no end");
        return;
    }
    sasl_step next = by_->step(challenge);
    switch (next.what) {
    case sasl_step::kind::token: send_token(next.text); break;
    case sasl_step::kind::failed: fail(next.by, std::move(next.text)); break;
    case sasl_step::kind::done:
        authenticated_ = true;
        open();
        break;
    }
}

void sasl_gate::open()
{
    state_ = state::open;
    to_client_ = std::exchange(response_, {}) + std::exchange(from_server_, {});
    to_server_ += std::exchange(from_client_, {});
}

bool sasl_gate::fail(sasl_failure by, std::string why)
{
    state_ = state::failed;
    failed_by_ = by;
    failure_ = std::move(why);
    to_server_.clear();
    return false;
}

void sasl_gate::send_token(std::string_view token)
{
    const auto size = static_cast<std::uint32_t>(token.size());
    const boost::endian::big_uint32_t head[] = {static_cast<std::uint32_t>(bytes_at - 8) + size, number, kind_sasl,
                                                size};
    to_server_.append(reinterpret_cast<const char*>(head), sizeof head);
    to_server_ += token;
}

} // namespace zklock::bridge

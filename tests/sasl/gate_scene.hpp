#pragma once
#include "bridge/sasl/gate.hpp"

#include <vector>

namespace zklock::test {

using namespace zklock; // so that who uses this one has the library, too

/// Says what it was told to say, whatever the server says.
class scripted_mechanism final : public bridge::mechanism {
public:
    explicit scripted_mechanism(std::vector<bridge::sasl_step> steps) : steps_(std::move(steps)) {}

    [[nodiscard]] const std::string& first() const noexcept override { return first_; }
    [[nodiscard]] bridge::sasl_step step(std::string_view) override { return steps_.at(next_++); }
    [[nodiscard]] bridge::sasl_step refused() override
    {
        return bridge::failed_step(bridge::sasl_failure::refused, "the script refuses");
    }

private:
    const std::string first_ = "first";
    const std::vector<bridge::sasl_step> steps_;
    std::size_t next_ = 0;
};

inline std::string in_four_bytes(std::int32_t number)
{
    const auto value = static_cast<std::uint32_t>(number);
    std::string bytes;
    for (const int shift : {24, 16, 8, 0})
        bytes += static_cast<char>(value >> shift & 0xff);
    return bytes;
}

inline std::string frame(const std::string& of)
{
    return in_four_bytes(static_cast<std::int32_t>(of.size())) + of;
}

/// What a client asks first: version, last number, time-out, session, password.
inline std::string session_request()
{
    return frame(std::string(4, '\0') + std::string(8, '\0') + in_four_bytes(10'000) + std::string(8, '\0') +
                 frame(std::string(16, '\0')) + std::string(1, '\0'));
}

/// What a server answers: version, time-out, session, password, and, from 3.4 on, a flag.
inline std::string session_response(std::int32_t time_out, bool flag = true)
{
    return frame(in_four_bytes(0) + in_four_bytes(time_out) + std::string(8, 's') + frame(std::string(16, 'p')) +
                 std::string(flag ? 1 : 0, '\0'));
}

inline std::string sasl_request(const std::string& token)
{
    return frame(in_four_bytes(0) + in_four_bytes(102) + frame(token));
}

inline std::string sasl_error(std::int32_t error)
{
    return frame(in_four_bytes(0) + std::string(8, 'z') + in_four_bytes(error));
}

inline std::string sasl_answer_of_length(std::int32_t length, const std::string& token, std::int32_t number = 0)
{
    return frame(in_four_bytes(number) + std::string(8, 'z') + in_four_bytes(0) + in_four_bytes(length) + token);
}

inline std::string sasl_answer(const std::string& token, std::int32_t number = 0)
{
    return sasl_answer_of_length(static_cast<std::int32_t>(token.size()), token, number);
}

inline std::string sasl_answer_without_buffer()
{
    return sasl_answer_of_length(-1, "");
}

inline std::string take_to_server(bridge::sasl_gate& gate)
{
    std::string all(gate.to_server().begin(), gate.to_server().end());
    gate.sent_to_server(all.size());
    return all;
}

inline std::string take_to_client(bridge::sasl_gate& gate)
{
    std::string all(gate.to_client().begin(), gate.to_client().end());
    gate.sent_to_client(all.size());
    return all;
}

} // namespace zklock::test

#pragma once
#include "sasl/gate_scene.hpp"

#include <boost/asio/buffer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <thread>

#include <sys/socket.h>

namespace zklock::test {

/// Has a KDC's port, knows nobody's key, and answers each question with an error and a text. As long as it lives.
class false_kdc {
public:
    static constexpr char clock_skew = 37, something_else = 60; ///< numbers of RFC 4120

    false_kdc(std::uint16_t port, char number, const std::string& text)
        : listener_(io_, {boost::asio::ip::address_v4::loopback(), port}),
          thread_([this, answer = frame(error_of(number, text))] { serve(answer); })
    {
    }
    ~false_kdc()
    {
        ::shutdown(listener_.native_handle(), SHUT_RDWR);
        thread_.join();
    }
    false_kdc(const false_kdc&) = delete;
    false_kdc& operator=(const false_kdc&) = delete;

private:
    void serve(const std::string& answer)
    {
        boost::system::error_code ended;
        for (;;) {
            boost::asio::ip::tcp::socket asker(io_);
            listener_.accept(asker, ended);
            if (ended)
                return;
            std::array<unsigned char, 4> length{};
            boost::asio::read(asker, boost::asio::buffer(length), ended);
            std::string question(static_cast<std::size_t>(length[2]) << 8 | length[3], '\0');
            boost::asio::read(asker, boost::asio::buffer(question), ended);
            boost::asio::write(asker, boost::asio::buffer(answer), ended);
        }
    }

    /// In DER, with lengths below 256.
    static std::string tagged(int tag, const std::string& content)
    {
        const auto size = static_cast<char>(content.size());
        return static_cast<char>(tag) + (content.size() < 128 ? std::string() : std::string("\x81")) + size + content;
    }
    static std::string field(int number, int tag, const std::string& content)
    {
        return tagged(0xa0 + number, tagged(tag, content));
    }
    /// KRB-ERROR of RFC 4120.
    static std::string error_of(char number, const std::string& text)
    {
        constexpr int integer = 0x02, time = 0x18, general = 0x1b, sequence = 0x30, error = 0x7e;
        const std::string name = field(0, integer, "\1") + field(1, sequence, tagged(general, "krbtgt"));
        return tagged(error, tagged(sequence, field(0, integer, "\x05") + field(1, integer, "\x1e") +
                                                  field(4, time, "20300101000000Z") + field(5, integer, {'\0'}) +
                                                  field(6, integer, {number}) + field(9, general, "ZK.TEST") +
                                                  field(10, sequence, name) + field(11, general, text)));
    }

    boost::asio::io_context io_;
    boost::asio::ip::tcp::acceptor listener_;
    std::thread thread_;
};

} // namespace zklock::test

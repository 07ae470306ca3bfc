#include "driver/driver.hpp"

#include <sys/resource.h>

#include <exception>
#include <iostream>
#include <sstream>
#include <stdexcept>

namespace zklock::bench {

request::request(const std::string& line)
{
    std::istringstream words{line};
    words >> workload;
    for (std::string word; words >> word;) {
        const auto equals = word.find('=');
        if (equals == std::string::npos)
            throw std::runtime_error("not a parameter: " + word);
        values_[word.substr(0, equals)] = word.substr(equals + 1);
    }
}

std::string request::text(const std::string& name) const
{
    const auto found = values_.find(name);
    if (found == values_.end())
        throw std::runtime_error(workload + " needs the parameter " + name);
    return found->second;
}

std::string request::text(const std::string& name, const std::string& otherwise) const
{
    return values_.contains(name) ? text(name) : otherwise;
}

std::int64_t request::number(const std::string& name) const
{
    return std::stoll(text(name));
}

std::int64_t request::number(const std::string& name, std::int64_t otherwise) const
{
    return values_.contains(name) ? number(name) : otherwise;
}

double monotonic_ns()
{
    return std::chrono::duration<double, std::nano>(steady_clock::now().time_since_epoch()).count();
}

namespace {

double processor_us()
{
    rusage used{};
    ::getrusage(RUSAGE_SELF, &used);
    const auto us = [](const timeval& t) {
        return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_usec);
    };
    return us(used.ru_utime) + us(used.ru_stime);
}

void write_json(std::ostream& out, const report& r)
{
    out.precision(17);
    out << R"({"operations":)" << r.operations << R"(,"seconds":)" << std::chrono::duration<double>(r.elapsed).count()
        << R"(,"latencies":{)";
    const char* separator = "";
    for (const auto& [name, durations] : r.latencies) {
        out << separator << '"' << name << "\":[";
        separator = "";
        durations.for_each([&](std::uint64_t ns, std::uint64_t count) {
            out << separator << '[' << ns << ',' << count << ']';
            separator = ",";
        });
        out << ']';
        separator = ",";
    }
    out << R"(},"figures":{)";
    separator = "";
    for (const auto& [name, value] : r.figures) {
        out << separator << '"' << name << "\":" << value;
        separator = ",";
    }
    out << "}}" << std::endl;
}

void expect(const std::string& word)
{
    std::string line;
    if (!std::getline(std::cin, line) || line != word)
        throw std::runtime_error("expected: " + word);
}

} // namespace

int serve(const workload_maker& make)
try {
    std::ios::sync_with_stdio(false);
    for (std::string line; std::getline(std::cin, line);) {
        const request asked{line};
        const auto subject = make(asked);
        if (!subject)
            throw std::runtime_error("no such workload: " + asked.workload);
        subject->set_up();
        std::cout << "ready" << std::endl;
        expect("go");
        const double before = processor_us();
        auto found = subject->measure();
        found.figures["processor_us"] = processor_us() - before;
        write_json(std::cout, found);
        expect("end");
        subject->tear_down();
        std::cout << "ended" << std::endl;
    }
    return 0;
} catch (const std::exception& e) {
    std::cerr << e.what() << std::endl;
    return 1;
}

} // namespace zklock::bench

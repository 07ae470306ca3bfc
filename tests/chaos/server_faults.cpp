#include "chaos/server_faults.hpp"

namespace zklock::chaos {

std::string broken_history(std::istream& log)
{
    for (std::string line; std::getline(log, line);) {
        const bool other_data = line.find("Digests are not matching") != std::string::npos;
        const bool wrong_order = line.find("FileTxnLog - Current zxid ") != std::string::npos;
        if (other_data || wrong_order)
            return line;
    }
    return {};
}

} // namespace zklock::chaos

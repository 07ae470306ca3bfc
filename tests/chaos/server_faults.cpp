#include "chaos/server_faults.hpp"

#include <fstream>
#include <iterator>

namespace zklock::chaos {

std::string different_data(std::istream& log)
{
    for (std::string line; std::getline(log, line);)
        if (line.find("Digests are not matching") != std::string::npos)
            return line;
    return {};
}

/// A record has the data's length before them, in four bytes.
bool was_written(const std::filesystem::path& folder, std::string_view data)
{
    std::string record(3, '\0');
    record += static_cast<char>(data.size());
    record += data;
    for (const auto& file : std::filesystem::directory_iterator(folder)) {
        if (!file.path().filename().string().starts_with("log."))
            continue;
        std::ifstream in(file.path(), std::ios::binary);
        const std::string all(std::istreambuf_iterator<char>(in), {});
        if (all.find(record) != std::string::npos)
            return true;
    }
    return false;
}

} // namespace zklock::chaos

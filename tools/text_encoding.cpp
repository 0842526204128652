#include "text_encoding.hpp"

#include <fmt/format.h>

#include <array>

#include <holdfast/base/format.hpp>

namespace holdfast::tools {
namespace {

constexpr std::string_view kBase64 =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

constexpr std::array<std::int8_t, 256> base64_digits() {
  std::array<std::int8_t, 256> digits{};
  for (auto& digit : digits)
    digit = -1;
  for (std::size_t i = 0; i < kBase64.size(); ++i) {
    digits[static_cast<unsigned char>(kBase64[i])] = static_cast<std::int8_t>(i);
  }
  return digits;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

bool is_printable(std::string_view bytes) {
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte < 0x20 && c != '\t' && c != '\n') || byte == 0x7F) return false;
  }
  return is_valid_utf8(bytes);
}

std::string to_hex(std::string_view bytes) {
  static constexpr std::string_view kDigits = "0123456789abcdef";
  std::string text;
  text.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

Result<std::string> from_hex(std::string_view text) {
  if (text.size() % 2 != 0) {
    return Error{
        Errc::kInvalidOption,
        fmt::format("hex text of {} digits; two digits make a byte, so their number is even",
                    text.size())};
  }
  std::string bytes;
  bytes.reserve(text.size() / 2);
  for (std::size_t at = 0; at < text.size(); at += 2) {
    const int high = hex_digit(text[at]), low = hex_digit(text[at + 1]);
    if (high < 0 || low < 0) {
      return Error{Errc::kInvalidOption,
                   fmt::format("'{}' at position {} is not hex; allowed are 0-9, a-f and A-F",
                               visible(text.substr(high < 0 ? at : at + 1, 1)),
                               (high < 0 ? at : at + 1) + 1)};
    }
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string to_base64(std::string_view bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    const std::size_t here = std::min<std::size_t>(3, bytes.size() - at);
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      group = group << 8 | (i < here ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      text += i <= here ? kBase64[group >> (18 - 6 * i) & 63] : '=';
    }
  }
  return text;
}

Result<std::string> from_base64(std::string_view text) {
  static constexpr auto kDigits = base64_digits();
  if (text.size() % 4 != 0) {
    return Error{
        Errc::kInvalidOption,
        fmt::format("base64 text of {} characters; with its padding ('=') it is a multiple of 4",
                    text.size())};
  }
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3);
  for (std::size_t at = 0; at < text.size(); at += 4) {
    const bool last = at + 4 == text.size();
    const std::size_t padding = !last || text[at + 3] != '=' ? 0 : text[at + 2] == '=' ? 2 : 1;
    std::uint32_t group = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      const int digit = i >= 4 - padding ? 0 : kDigits[static_cast<unsigned char>(text[at + i])];
      if (digit < 0) {
        return Error{
            Errc::kInvalidOption,
            fmt::format("'{}' at position {} is not base64; allowed are A-Z, a-z, 0-9, + and /",
                        visible(text.substr(at + i, 1)), at + i + 1)};
      }
      group = group << 6 | static_cast<std::uint32_t>(digit);
    }
    if ((padding == 2 && (group & 0xFFFF) != 0) || (padding == 1 && (group & 0xFF) != 0)) {
      return Error{Errc::kInvalidOption,
                   "base64 text ends in bits that belong to no byte; it was cut or altered"};
    }
    for (std::size_t i = 0; i < 3 - padding; ++i)
      bytes += static_cast<char>(group >> (16 - 8 * i) & 0xFF);
  }
  return bytes;
}

std::string encode(std::string_view bytes, Encoding encoding) {
  switch (encoding) {
    case Encoding::kHex: return to_hex(bytes);
    case Encoding::kBase64: return to_base64(bytes);
    default: return std::string{bytes};
  }
}

Result<std::string> decode(std::string_view text, Encoding encoding) {
  switch (encoding) {
    case Encoding::kHex: return from_hex(text);
    case Encoding::kBase64: return from_base64(text);
    default: return std::string{text};
  }
}

Result<std::string> option_bytes(std::string_view option, std::string_view text,
                                 Encoding encoding) {
  auto bytes = decode(text, encoding);
  if (!bytes) return Error{bytes.code(), fmt::format("{}: {}", option, bytes.error().detail)};
  return bytes;
}

void append_json_string(std::string& out, std::string_view text) {
  out += '"';
  std::size_t plain_from = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const auto byte = static_cast<unsigned char>(text[at]);
    if (byte >= 0x20 && byte != '"' && byte != '\\' && byte != 0x7F) continue;
    out.append(text.substr(plain_from, at - plain_from));
    plain_from = at + 1;
    switch (byte) {
      case '"': out += "\\\""; break;
      case '\\': out += "\\\\"; break;
      case '\n': out += "\\n"; break;
      case '\r': out += "\\r"; break;
      case '\t': out += "\\t"; break;
      default: fmt::format_to(std::back_inserter(out), "\\u{:04x}", byte);
    }
  }
  out.append(text.substr(plain_from));
  out += '"';
}

void append_json_member(std::string& out, std::string_view name, std::string_view bytes) {
  const bool text = is_valid_utf8(bytes);
  out += '"';
  out += name;
  out += text ? "\":" : "64\":\"";
  if (text) {
    append_json_string(out, bytes);
  } else {
    out += to_base64(bytes);
    out += '"';
  }
}

std::string visible(std::string_view bytes) {
  std::string text;
  text.reserve(bytes.size());
  if (bytes.starts_with(kByteOrderMark)) {
    text += "\\xef\\xbb\\xbf";
    bytes.remove_prefix(kByteOrderMark.size());
  }
  while (!bytes.empty()) {
    const std::size_t length = utf8_sequence(bytes);
    const auto byte = static_cast<unsigned char>(bytes[0]);
    switch (byte) {
      case '\\': text += "\\\\"; break;
      case '\t': text += "\\t"; break;
      case '\n': text += "\\n"; break;
      case '\r': text += "\\r"; break;
      case '\0': text += "\\0"; break;
      default:
        if (length == 0 || byte < 0x20 || byte == 0x7F) {
          fmt::format_to(std::back_inserter(text), "\\x{:02x}", byte);
        } else {
          text.append(bytes.substr(0, length));
        }
    }
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

}  // namespace holdfast::tools

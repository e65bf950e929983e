#include "policy/place.h"

namespace weir::policy {

Position place_in_scalar(const Source& source, const Node& scalar, std::size_t offset) {
  const std::string& text = scalar.form == Node::Form::kExpanded ? scalar.written : scalar.text;
  Position start = scalar.at;
  const std::string_view line = source.line(start.line);
  const std::size_t byte = source.byte_of_column(start.line, start.column);
  if (byte < line.size() && (line[byte] == '"' || line[byte] == '\'')) ++start.column;
  if (offset > text.size() || !source.has_text_at(start, text)) return scalar.at;
  const std::size_t start_byte = source.byte_of_column(start.line, start.column);
  return {start.line, source.column_of_byte(start.line, start_byte + offset)};
}

}  // namespace weir::policy

#include "policy/document.h"

#include <utility>

#include "policy/place.h"

namespace weir::policy {

NodePtr make_scalar(Position at, std::string text, Node::Form form, const Environment& environment,
                    const Source& source, Diagnostics& found) {
  auto node = std::make_shared<Node>();
  node->kind = Node::Kind::kScalar;
  node->form = form;
  node->at = at;
  node->text = std::move(text);
  if (!has_variables(node->text)) return node;

  Parsed<std::string> expanded = expand(node->text, environment);
  if (const auto* error = std::get_if<ScalarError>(&expanded)) {
    found.add(place_in_scalar(source, *node, error->offset), "this value " + error->message);
    node->kind = Node::Kind::kFaulty;
    return node;
  }
  node->form = Node::Form::kExpanded;
  node->written = std::exchange(node->text, std::get<std::string>(std::move(expanded)));
  return node;
}

}  // namespace weir::policy

#include "formats/foreign_text.h"

#include <string>
#include <vector>

#include "base/printable_text.h"
#include "google/protobuf/descriptor.h"

namespace wavetune {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

bool HasForeignField(const Message& message, const FieldDescriptor* field) {
  const Reflection* const reflection = message.GetReflection();
  std::string scratch;
  if (!field->is_repeated()) {
    if (field->type() == FieldDescriptor::TYPE_STRING) {
      return !IsUtf8(reflection->GetStringReference(message, field, &scratch));
    }
    return field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE &&
           HasForeignText(reflection->GetMessage(message, field));
  }
  const bool text = field->type() == FieldDescriptor::TYPE_STRING;
  if (!text && field->cpp_type() != FieldDescriptor::CPPTYPE_MESSAGE) {
    return false;
  }
  for (int i = 0; i < reflection->FieldSize(message, field); ++i) {
    if (text ? !IsUtf8(reflection->GetRepeatedStringReference(message, field, i,
                                                              &scratch))
             : HasForeignText(
                   reflection->GetRepeatedMessage(message, field, i))) {
      return true;
    }
  }
  return false;
}

void EscapeField(Message* message, const FieldDescriptor* field) {
  const Reflection* const reflection = message->GetReflection();
  const bool text = field->type() == FieldDescriptor::TYPE_STRING;
  if (!field->is_repeated()) {
    if (text) {
      reflection->SetString(
          message, field,
          PrintableText(reflection->GetString(*message, field)));
    } else {
      EscapeForeignText(reflection->MutableMessage(message, field));
    }
    return;
  }
  for (int i = 0; i < reflection->FieldSize(*message, field); ++i) {
    if (text) {
      reflection->SetRepeatedString(
          message, field, i,
          PrintableText(reflection->GetRepeatedString(*message, field, i)));
    } else {
      EscapeForeignText(reflection->MutableRepeatedMessage(message, field, i));
    }
  }
}

std::vector<const FieldDescriptor*> FieldsOf(const Message& message) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  return fields;
}

}  // namespace

bool HasForeignText(const Message& message) {
  for (const FieldDescriptor* const field : FieldsOf(message)) {
    if (HasForeignField(message, field)) return true;
  }
  return false;
}

void EscapeForeignText(Message* message) {
  // Looks before it touches: a map that is written through reflection is
  // rebuilt.
  for (const FieldDescriptor* const field : FieldsOf(*message)) {
    if (HasForeignField(*message, field)) EscapeField(message, field);
  }
}

}  // namespace wavetune

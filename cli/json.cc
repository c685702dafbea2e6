#include "cli/json.h"

#include "absl/strings/escaping.h"
#include "base/terminal_text.h"
#include "google/protobuf/descriptor.h"

namespace wavetune::cli {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

// `index` is -1 for a singular field.
Json Value(const Message& message, const FieldDescriptor* field, int index) {
  const Reflection* r = message.GetReflection();
  const bool one = index < 0;
  switch (field->cpp_type()) {
    case FieldDescriptor::CPPTYPE_INT32:
      return one ? r->GetInt32(message, field)
                 : r->GetRepeatedInt32(message, field, index);
    case FieldDescriptor::CPPTYPE_INT64:
      return one ? r->GetInt64(message, field)
                 : r->GetRepeatedInt64(message, field, index);
    case FieldDescriptor::CPPTYPE_UINT32:
      return one ? r->GetUInt32(message, field)
                 : r->GetRepeatedUInt32(message, field, index);
    case FieldDescriptor::CPPTYPE_UINT64:
      return one ? r->GetUInt64(message, field)
                 : r->GetRepeatedUInt64(message, field, index);
    case FieldDescriptor::CPPTYPE_DOUBLE:
      return one ? r->GetDouble(message, field)
                 : r->GetRepeatedDouble(message, field, index);
    case FieldDescriptor::CPPTYPE_FLOAT:
      return one ? r->GetFloat(message, field)
                 : r->GetRepeatedFloat(message, field, index);
    case FieldDescriptor::CPPTYPE_BOOL:
      return one ? r->GetBool(message, field)
                 : r->GetRepeatedBool(message, field, index);
    case FieldDescriptor::CPPTYPE_ENUM: {
      const auto* value = one ? r->GetEnum(message, field)
                              : r->GetRepeatedEnum(message, field, index);
      return value->name();
    }
    case FieldDescriptor::CPPTYPE_STRING: {
      const std::string text =
          one ? r->GetString(message, field)
              : r->GetRepeatedString(message, field, index);
      return field->type() == FieldDescriptor::TYPE_BYTES
                 ? absl::BytesToHexString(text)
                 : text;
    }
    case FieldDescriptor::CPPTYPE_MESSAGE:
      return ToJson(one ? r->GetMessage(message, field)
                        : r->GetRepeatedMessage(message, field, index));
  }
  return nullptr;
}

// A map entry's key as a JSON key.
std::string Key(const Json& key) {
  return key.is_string() ? key.get<std::string>() : key.dump();
}

}  // namespace

Json ToJson(const Message& message) {
  Json json = Json::object();
  const auto* descriptor = message.GetDescriptor();
  const Reflection* reflection = message.GetReflection();
  for (int i = 0; i < descriptor->field_count(); ++i) {
    const FieldDescriptor* field = descriptor->field(i);
    if (field->is_map()) {
      Json map = Json::object();
      for (int j = 0; j < reflection->FieldSize(message, field); ++j) {
        const Json entry = Value(message, field, j);
        map[Key(entry["key"])] = entry["value"];
      }
      json[field->name()] = std::move(map);
    } else if (field->is_repeated()) {
      Json list = Json::array();
      for (int j = 0; j < reflection->FieldSize(message, field); ++j)
        list.push_back(Value(message, field, j));
      json[field->name()] = std::move(list);
    } else if (!field->has_presence() || reflection->HasField(message, field)) {
      json[field->name()] = Value(message, field, -1);
    }
  }
  return json;
}

Json ToJson(const std::vector<Dimension>& dimensions, const Problem& problem) {
  Json json = Json::object();
  for (size_t i = 0; i < dimensions.size(); ++i) {
    if (dimensions[i].repeated) {
      json[dimensions[i].name] = problem.repeated;
    } else if (i < problem.extents.size()) {
      json[dimensions[i].name] = problem.extents[i];
    }
  }
  if (!problem.specialisation.empty())
    json["specialisation"] = problem.specialisation;
  return json;
}

Json ToJson(const std::vector<std::string>& parameters,
            const Configuration& configuration) {
  Json json = Json::object();
  for (int i = 0;
       i < configuration.size() && static_cast<size_t>(i) < parameters.size();
       ++i)
    json[parameters[static_cast<size_t>(i)]] = configuration[i];
  return json;
}

std::string JsonText(const Json& json, int indentation) {
  // What is escaped stands in strings alone, and as JSON has it.
  return ParagraphText(
             json.dump(indentation, ' ', false, Json::error_handler_t::replace),
             "") +
         "\n";
}

void PrintJson(Output& out, const Json& json) { out << Lines(JsonText(json)); }

}  // namespace wavetune::cli

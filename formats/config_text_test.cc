#include "formats/config_text.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"

namespace wavetune {
namespace {

TEST(ConfigTextTest, LiteralsOfPythonAreNullOutsideOfTexts) {
  EXPECT_EQ(WithoutPythonLiterals(
                R"({"a": [0.0, Infinity, -Infinity, NaN], "NaN": "Infinity"})"),
            R"({"a": [0.0, null, null, null], "NaN": "Infinity"})");
  EXPECT_EQ(WithoutPythonLiterals(R"({"a\"NaN": "\\", "b": NaN)"),
            R"({"a\"NaN": "\\", "b": null)");
  EXPECT_EQ(WithoutPythonLiterals("\"open NaN"), "\"open NaN");
  EXPECT_EQ(WithoutPythonLiterals(""), "");
}

TEST(ConfigTextTest, BlanksAndWhatNoLayerFollowsFromAreDropped) {
  EXPECT_EQ(CompactConfig(R"( {
    "id2label": {"0": "a"}, "hidden_size" : 64 ,
    "text_config": {"label2id": {"a b": 0}, "x": [1, -2.5e3, true, {}, []]},
    "limit": [0.0, Infinity], "auto_map": {}
  } )"),
            R"({"hidden_size":64,"text_config":{"x":[1,-2.5e3,true,{},[]]},)"
            R"("limit":[0.0,null]})");
  EXPECT_EQ(CompactConfig(R"({"auto_map": {}})"), "{}");
}

TEST(ConfigTextTest, OfExpertsThatAreQuantisedAlikeOneOfALayerStays) {
  EXPECT_EQ(
      CompactConfig(
          R"({"q": {"l.0.experts.0.w1": {"algo": "A"},
                    "l.0.experts.1.w1": {"algo": "A"},
                    "l.0.experts.2.w1": {"algo": "B"},
                    "l.1.experts.0.w1": {"algo": "A"}},
              "ignore": ["l.0.experts.0", "l.0.experts.1", "l.0.o_proj"]})"),
      R"({"q":{"l.0.experts.0.w1":{"algo":"A"},)"
      R"("l.0.experts.2.w1":{"algo":"B"},"l.1.experts.0.w1":{"algo":"A"}},)"
      R"("ignore":["l.0.experts.0","l.0.o_proj"]})");
}

TEST(ConfigTextTest, WhatIsNoObjectStaysAsItIs) {
  for (const std::string& text :
       {std::string("{\"a\": 1, "), std::string("[1, 2]"), std::string("{"),
        std::string("{\"a\" 1}"), std::string("{\"a\": }"),
        std::string("{\"a\": 1} x"), std::string("{\"a"), std::string(),
        absl::StrCat("{\"a\": ", std::string(100000, '['))}) {
    EXPECT_EQ(CompactConfig(text), text);
  }
}

}  // namespace
}  // namespace wavetune

#include "formats/foreign_text.h"

#include <gtest/gtest.h>

#include <string>

#include "proto/wavetune/v1/agent_service.pb.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"

namespace wavetune {
namespace {

TEST(ForeignTextTest, AMessageWithForeignBytesCanBeReadAfterwards) {
  v1::ListKernelsResponse kernels;
  kernels.add_kernels()->set_problem("fine");
  kernels.add_kernels()->set_problem("a byte \xe9 of Latin-1");
  kernels.mutable_kernels(1)->mutable_spec()->set_name("caf\xe9");
  kernels.mutable_kernels(1)->mutable_spec()->add_dimensions()->set_name(
      "\xff");
  EXPECT_TRUE(HasForeignText(kernels));
  EscapeForeignText(&kernels);
  EXPECT_FALSE(HasForeignText(kernels));
  v1::ListKernelsResponse read;
  ASSERT_TRUE(read.ParseFromString(kernels.SerializeAsString()));
  EXPECT_EQ(read.kernels(0).problem(), "fine");
  EXPECT_EQ(read.kernels(1).problem(), "a byte \\xe9 of Latin-1");
  EXPECT_EQ(read.kernels(1).spec().name(), "caf\\xe9");
  EXPECT_EQ(read.kernels(1).spec().dimensions(0).name(), "\\xff");
}

TEST(ForeignTextTest, KeysAndValuesOfMapsAreEscaped) {
  v1::AnnounceTableSetRequest request;
  (*request.mutable_tables())["caf\xe9"] = "\xe9";
  (*request.mutable_tables())["gemm"] = "abc";
  EscapeForeignText(&request);
  v1::AnnounceTableSetRequest read;
  ASSERT_TRUE(read.ParseFromString(request.SerializeAsString()));
  EXPECT_EQ(read.tables().at("caf\\xe9"), "\\xe9");
  EXPECT_EQ(read.tables().at("gemm"), "abc");
}

TEST(ForeignTextTest, BytesStayWhatTheyAre) {
  v1::SourceFile file;
  file.set_name("kernel.cl");
  file.set_content("\xff\xe9");
  EXPECT_FALSE(HasForeignText(file));
  EscapeForeignText(&file);
  EXPECT_EQ(file.content(), "\xff\xe9");
}

TEST(ForeignTextTest, ValidTextIsNotTouched) {
  v1::KernelStatus kernel;
  kernel.set_problem("größer als 5 µs \\ \n");
  EXPECT_EQ(WithoutForeignText(kernel).problem(), kernel.problem());
}

}  // namespace
}  // namespace wavetune

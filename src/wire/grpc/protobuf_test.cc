#include "wire/grpc/protobuf.h"

#include <gtest/gtest.h>

#include <random>

namespace weir::protobuf {
namespace {

using namespace std::string_literals;

TEST(ProtobufReader, GivesFieldsOfEveryTypeInOrder) {
  const std::string bytes =
      "\x08\x96\x01"                          // 1: varint 150
      "\x12\x02hi"                            // 2: bytes
      "\x19\x01\x00\x00\x00\x00\x00\x00\x80"  // 3: fixed64
      "\x25\x04\x03\x02\x01"s;                // 4: fixed32
  Reader reader(bytes);
  Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.is_varint(1));
  EXPECT_EQ(field.value, 150u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.is_bytes(2));
  EXPECT_EQ(field.bytes, "hi");
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, 0x8000000000000001u);
  ASSERT_TRUE(reader.next(field));
  EXPECT_EQ(field.value, 0x01020304u);
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.failed());
}

TEST(ProtobufReader, SkipsGroupsWithGroupsInside) {
  const std::string bytes = "\x0B\x13\x08\x01\x14\x0C\x10\x07"s;
  Reader reader(bytes);
  Field field;
  ASSERT_TRUE(reader.next(field));
  EXPECT_TRUE(field.is_varint(2));
  EXPECT_EQ(field.value, 7u);
  EXPECT_FALSE(reader.next(field));
  EXPECT_FALSE(reader.failed());
}

TEST(ProtobufReader, RefusesWhatIsNoMessage) {
  const std::string bad[] = {
      "\x08"s,                                              // a value is missing
      "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x02"s,      // more than 64 bits
      "\x08\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01"s,  // more than 10 bytes
      "\x12\x05hi"s,                                        // shorter than it says
      "\x00\x01"s,                                          // field number 0
      "\x0E\x01"s,                                          // type 6
      "\x0C"s,                                              // a group ends that never began
      "\x0B\x08\x01"s,                                      // a group never ends
      "\x0B\x14"s,                                          // another group ends
      std::string(33, '\x0B'),                              // groups too deep
  };
  for (const std::string& bytes : bad) {
    Reader reader(bytes);
    Field field;
    while (reader.next(field)) {
    }
    EXPECT_TRUE(reader.failed()) << ::testing::PrintToString(bytes);
  }
}

TEST(ProtobufReader, EndsOnAnyBytesWithoutLeavingThem) {
  std::mt19937 random(7);
  for (int round = 0; round < 20'000; ++round) {
    std::string bytes(random() % 40, '\0');
    for (char& c : bytes) c = static_cast<char>(random() % 5 == 0 ? random() : random() % 32);
    Reader reader(bytes);
    Field field;
    std::size_t fields = 0;
    while (reader.next(field)) ASSERT_LE(++fields, bytes.size());
  }
}

TEST(ProtobufWriter, WritesLengthsOfOneByteAndOfMore) {
  for (const std::size_t size : {0u, 1u, 127u, 128u, 20'000u}) {
    std::string out;
    Writer writer(out);
    const std::size_t at = writer.open(3);
    writer.text(1, std::string(size, 'x'));
    writer.close(at);
    writer.number(4, 9);
    Reader reader(out);
    Field outer;
    ASSERT_TRUE(reader.next(outer));
    ASSERT_TRUE(outer.is_bytes(3));
    Reader inside(outer.bytes);
    Field field;
    EXPECT_EQ(inside.next(field), size > 0);  // proto3 leaves empty text out
    EXPECT_EQ(field.bytes.size(), size);
    ASSERT_TRUE(reader.next(outer));
    EXPECT_TRUE(outer.is_varint(4));
  }
}

}  // namespace
}  // namespace weir::protobuf

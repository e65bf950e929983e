#include "store/redis/pipeline.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

namespace weir::store::redis {
namespace {

// Drives a pipeline and notes how each call ended.
class PipelineTest : public testing::Test {
 protected:
  void add(int number, std::int64_t deadline, unsigned skip = 0) {
    pipeline_.add("PING\r\n", skip, deadline, [this, number](const Outcome& outcome) {
      ++ends_[number];
      endings_[number] = outcome.ending;
      if (outcome.reply != nullptr) texts_[number] = outcome.reply->text();
    });
  }
  std::string output() {
    std::string out;
    pipeline_.take_output(out);
    return out;
  }

  Pipeline pipeline_;
  std::map<int, Ending> endings_;
  std::map<int, std::string> texts_;
  std::map<int, int> ends_;
};

TEST_F(PipelineTest, AnswersCallsInTheOrderInWhichTheyWereSent) {
  add(1, 100);
  add(2, 100);
  EXPECT_EQ(output(), "PING\r\nPING\r\n");
  EXPECT_FALSE(pipeline_.has_output());
  EXPECT_TRUE(pipeline_.receive("+a\r\n+"));
  EXPECT_EQ(texts_[1], "a");
  EXPECT_EQ(ends_[2], 0);
  EXPECT_TRUE(pipeline_.receive("b\r\n"));
  EXPECT_EQ(texts_[2], "b");
  EXPECT_EQ(pipeline_.waiting(), 0u);
}

TEST_F(PipelineTest, ReadsOverALateReply) {
  add(1, 100);
  add(2, 200);
  output();
  pipeline_.expire(100);
  EXPECT_EQ(endings_[1], Ending::kTimeout);
  EXPECT_EQ(pipeline_.next_deadline(), 200);
  EXPECT_TRUE(pipeline_.receive("+late\r\n+b\r\n"));
  EXPECT_EQ(texts_.count(1), 0u);
  EXPECT_EQ(texts_[2], "b");
  EXPECT_EQ(ends_[1], 1);
}

TEST_F(PipelineTest, NeverSendsACallThatTimedOutBeforeItWasSent) {
  add(1, 100);
  add(2, 200);
  pipeline_.expire(150);
  EXPECT_EQ(endings_[1], Ending::kUnsent);
  EXPECT_EQ(output(), "PING\r\n");
  EXPECT_TRUE(pipeline_.receive("+b\r\n"));
  EXPECT_EQ(texts_[2], "b");
}

TEST_F(PipelineTest, ACallThatMayWaitLongerHoldsUpNoneBehindIt) {
  add(1, 1000);  // a refund
  output();
  add(2, 20);
  add(3, 900);
  add(4, 30);
  EXPECT_EQ(pipeline_.next_deadline(), 20);
  pipeline_.expire(20);
  EXPECT_EQ(endings_[2], Ending::kUnsent);
  EXPECT_EQ(pipeline_.next_deadline(), 30);
  EXPECT_EQ(output(), "PING\r\nPING\r\n");
  pipeline_.expire(30);
  EXPECT_EQ(endings_[4], Ending::kTimeout);
  EXPECT_EQ(pipeline_.next_deadline(), 900);
  EXPECT_TRUE(pipeline_.receive("+a\r\n+c\r\n+late\r\n"));
  EXPECT_EQ(texts_[1], "a");
  EXPECT_EQ(texts_[3], "c");
  EXPECT_EQ(ends_[4], 1);
}

TEST_F(PipelineTest, TellsWhatWasSentFromWhatWasNotWhenTheConnectionEnds) {
  add(1, 100);
  output();
  add(2, 100);
  pipeline_.end_all();
  EXPECT_EQ(endings_[1], Ending::kLost);
  EXPECT_EQ(endings_[2], Ending::kUnsent);
  EXPECT_FALSE(pipeline_.has_output());
  pipeline_.end_all();
  EXPECT_EQ(ends_[1], 1);
}

TEST_F(PipelineTest, SkipsTheRepliesOfCommandsInFront) {
  add(1, 100, 1);
  output();
  EXPECT_TRUE(pipeline_.receive("+OK\r\n+moved\r\n"));
  EXPECT_EQ(texts_[1], "moved");
}

TEST_F(PipelineTest, HandsMessagesThatNobodyAskedForOn) {
  std::string pushed;
  pipeline_.push = [&](const resp::Reply& reply) { pushed = reply.at(1).text(); };
  add(1, 100);
  output();
  EXPECT_TRUE(pipeline_.receive(">2\r\n+message\r\n+hello\r\n+a\r\n"));
  EXPECT_EQ(pushed, "hello");
  EXPECT_EQ(texts_[1], "a");
}

TEST_F(PipelineTest, EndsAtAReplyToNothingAndAtNonsense) {
  EXPECT_FALSE(pipeline_.receive("+what\r\n"));
  add(1, 100);
  EXPECT_FALSE(pipeline_.receive("+early\r\n")) << "the call has not been sent";
  output();
  EXPECT_FALSE(pipeline_.receive("HTTP/1.1 200 OK\r\n"));
}

TEST_F(PipelineTest, TakesCallsThatACallbackAdds) {
  pipeline_.add("A\r\n", 0, 100, [this](const Outcome&) { add(2, 100); });
  output();
  EXPECT_TRUE(pipeline_.receive("+a\r\n"));
  EXPECT_EQ(output(), "PING\r\n");
  pipeline_.add("B\r\n", 0, 50, [this](const Outcome&) { add(3, 500); });
  output();
  pipeline_.expire(300);
  EXPECT_EQ(endings_[2], Ending::kTimeout);
  EXPECT_EQ(ends_[3], 0);
  EXPECT_EQ(pipeline_.next_deadline(), 500);
}

TEST_F(PipelineTest, NoticesAtTheSecondProbeThatAnAnswerWasLeftOut) {
  add(1, 100);
  output();
  pipeline_.expire(100);  // its reply never comes
  pipeline_.add_probe(200);
  EXPECT_EQ(output(), "*2\r\n$4\r\nPING\r\n$1\r\n1\r\n");
  EXPECT_TRUE(pipeline_.receive("$1\r\n1\r\n")) << "taken for the late reply of the first call";
  pipeline_.expire(200);
  pipeline_.add_probe(300);
  output();
  EXPECT_FALSE(pipeline_.receive("$1\r\n2\r\n"));
  EXPECT_NE(pipeline_.error().find("out of step"), std::string::npos);
}

TEST_F(PipelineTest, TakesALateProbeAndOneThatIsRefused) {
  pipeline_.add_probe(100);
  output();
  pipeline_.expire(100);
  pipeline_.add_probe(200);
  output();
  EXPECT_TRUE(pipeline_.receive("$1\r\n1\r\n-NOPERM no ping for you\r\n"));
  EXPECT_EQ(pipeline_.waiting(), 0u);
}

}  // namespace
}  // namespace weir::store::redis

"""Asks weir over RESP with redis-py: python3 redis_limit.py PORT"""

import sys

import redis


def main():
    client = redis.Redis(host="127.0.0.1", port=int(sys.argv[1]), decode_responses=True)
    client.ping()

    # Numbers of our own: 2 in a burst, 1 an hour. [limited, limit, left, retry, reset]
    print(client.execute_command("CL.THROTTLE", "user:42", 1, 1, 3600))

    # The policy's limit `login`, three times in one round trip; the first of each answer is 1 or 0.
    pipeline = client.pipeline(transaction=False)
    for _ in range(3):
        pipeline.execute_command("WEIR.TAKE", "login", 1, "alice")
    print([answer[0] for answer in pipeline.execute()])

    try:
        client.get("user:42")
    except redis.ResponseError:
        print("no such command")  # weir keeps no values


if __name__ == "__main__":
    main()

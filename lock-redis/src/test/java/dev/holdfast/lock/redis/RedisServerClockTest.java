package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.contract.fault.ServerClockContract;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.process.ServerClock;

final class RedisServerClockTest extends ServerClockContract {
    @Override
    protected Running start(ServerClock clock) throws Exception {
        RedisServer server = RedisServer.startWith(clock);
        return new Running("redis://" + server.host() + ":" + server.port(), server);
    }
}

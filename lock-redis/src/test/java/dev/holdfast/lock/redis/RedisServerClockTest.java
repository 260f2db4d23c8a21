package dev.holdfast.lock.redis;

import dev.holdfast.lock.testkit.contract.fault.ServerClockContract;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.RedisServer;
import dev.holdfast.lock.testkit.server.process.ServerClock;

@House("time:clocks")
final class RedisServerClockTest extends ServerClockContract {
    @Override
    protected Running start(ServerClock clock) throws Exception {
        RedisServer server = RedisServer.startWith(clock);
        return new Running("redis://" + server.host() + ":" + server.port(), server);
    }
}

package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.testkit.contract.fault.ServerClockContract;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.PostgresServer;
import dev.holdfast.lock.testkit.server.process.ServerClock;

@House("time:clocks")
final class PostgresServerClockTest extends ServerClockContract {
    @Override
    protected Running start(ServerClock clock) throws Exception {
        PostgresServer server = PostgresServer.startWith(clock);
        return new Running(
                server.url() + "?holdfast.createTable=true&user=" + PostgresServer.USER + "&password="
                        + PostgresServer.PASSWORD,
                server);
    }
}

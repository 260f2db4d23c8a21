package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.testkit.contract.fault.ServerClockContract;
import dev.holdfast.lock.testkit.house.House;
import dev.holdfast.lock.testkit.server.MariaDbServer;
import dev.holdfast.lock.testkit.server.process.ServerClock;

@House("time:clocks")
final class MariaDbServerClockTest extends ServerClockContract {
    @Override
    protected Running start(ServerClock clock) throws Exception {
        MariaDbServer server = MariaDbServer.startWith(clock);
        return new Running(
                server.url("mariadb") + "?holdfast.createTable=true&user=" + MariaDbServer.USER + "&password="
                        + MariaDbServer.PASSWORD,
                server);
    }
}

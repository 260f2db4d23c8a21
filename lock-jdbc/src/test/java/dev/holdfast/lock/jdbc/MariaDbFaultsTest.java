package dev.holdfast.lock.jdbc;

final class MariaDbFaultsTest extends ServerFaults {
    MariaDbFaultsTest() throws Exception {
        super(Db.mariadb("mariadb"));
    }
}

package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.ServerFaults;

final class MariaDbFaultsTest extends ServerFaults {
    MariaDbFaultsTest() throws Exception {
        super(Db.mariadb("mariadb"));
    }
}

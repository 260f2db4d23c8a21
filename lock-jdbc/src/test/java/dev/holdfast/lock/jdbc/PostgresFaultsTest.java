package dev.holdfast.lock.jdbc;

import dev.holdfast.lock.jdbc.internal.dialect.Db;
import dev.holdfast.lock.jdbc.internal.dialect.ServerFaults;

final class PostgresFaultsTest extends ServerFaults {
    PostgresFaultsTest() throws Exception {
        super(Db.postgres());
    }
}

package dev.holdfast.lock.jdbc;

final class PostgresFaultsTest extends ServerFaults {
    PostgresFaultsTest() throws Exception {
        super(Db.postgres());
    }
}

package dev.holdfast.examples;

import dev.holdfast.lock.Lease;
import dev.holdfast.lock.LockClient;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;

/**
 * A write that is safe even if its writer stands still for longer than the lease: the table remembers the highest token
 * that it has seen and takes nothing from a lower one.
 */
public final class FencedWrite {

    private FencedWrite() {}

    /**
     * Runs the example.
     *
     * @param arguments the lock store's URI
     * @throws Exception if the database or the store fails
     */
    public static void main(String[] arguments) throws Exception {
        try (LockClient client = LockClient.connect(arguments[0]);
                Connection database = DriverManager.getConnection("jdbc:h2:mem:fenced")) {
            try (Statement statement = database.createStatement()) {
                statement.execute("create table account(id int primary key, balance int, token bigint)");
                statement.execute("insert into account values (1, 100, 0)");
            }
            long staleToken;
            try (Lease lease = client.lock("account/1").acquire()) {
                staleToken = lease.token();
                System.out.println("written: " + write(database, 90, lease.token()));
            }
            try (Lease lease = client.lock("account/1").acquire()) {
                System.out.println("written by the next holder: " + write(database, 80, lease.token()));
            }
            System.out.println("written by the first holder, late: " + write(database, 70, staleToken));
        }
    }

    private static boolean write(Connection database, int balance, long token) throws SQLException {
        try (PreparedStatement update =
                database.prepareStatement("update account set balance = ?, token = ? where id = 1 and token <= ?")) {
            update.setInt(1, balance);
            update.setLong(2, token);
            update.setLong(3, token);
            return update.executeUpdate() == 1;
        }
    }
}

package dev.holdfast.examples.sale;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.locks.LockSupport;

/**
 * A stock and its sales, in an H2 database file that several processes open. One connection; not thread-safe.
 *
 * <p>A sale reads the stock, thinks, and writes the stock less one: right for one seller at a time, and wrong for two.
 */
final class Shop implements AutoCloseable {

    /** What a seller saw before it thought. */
    record Offer(int stock) {}

    private final Connection connection;
    private final PreparedStatement read;
    private final PreparedStatement write;
    private final PreparedStatement record;

    private Shop(String url) throws SQLException {
        connection = DriverManager.getConnection(url, "sa", "");
        try (Statement statement = connection.createStatement()) {
            statement.execute("create table if not exists stock(left_over int not null, token bigint not null)");
            statement.execute("create table if not exists sale(id bigint auto_increment primary key, token bigint)");
        }
        connection.setAutoCommit(false);
        read = connection.prepareStatement("select left_over from stock");
        write = connection.prepareStatement("update stock set left_over = ?, token = ? where token <= ?");
        record = connection.prepareStatement("insert into sale(token) values (?)");
    }

    static Shop open(String url) throws SQLException {
        return new Shop(url);
    }

    /** Sets the number of items on the shelf. */
    void stock(int count) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute("insert into stock values (" + count + ", 0)");
        }
        connection.commit();
    }

    Offer look() throws SQLException {
        try (ResultSet rows = read.executeQuery()) {
            rows.next();
            return new Offer(rows.getInt(1));
        } finally {
            connection.rollback();
        }
    }

    /** What a real seller does between reading and writing: prices, payment, a call to another service. */
    static void think(long micros) {
        long startNanos = System.nanoTime();
        long left = micros * 1_000;
        while (left > 0) {
            LockSupport.parkNanos(left);
            left = micros * 1_000 - (System.nanoTime() - startNanos);
        }
    }

    /**
     * Sells one of what the offer showed.
     *
     * @param token the fencing token, or 0 without a lock
     * @return false if the shop has seen a higher token: the seller's lease is over and another process sells
     */
    boolean sell(Offer offer, long token) throws SQLException {
        write.setInt(1, offer.stock() - 1);
        write.setLong(2, token);
        write.setLong(3, token);
        if (write.executeUpdate() == 0) {
            connection.rollback();
            return false;
        }
        record.setLong(1, token);
        record.executeUpdate();
        connection.commit();
        return true;
    }

    int sold() throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("select count(*) from sale")) {
            rows.next();
            return rows.getInt(1);
        } finally {
            connection.rollback();
        }
    }

    @Override
    public void close() throws SQLException {
        connection.close();
    }
}

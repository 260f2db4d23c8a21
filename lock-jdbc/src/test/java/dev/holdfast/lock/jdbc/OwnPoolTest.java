package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.LockException;
import dev.holdfast.lock.LockUnavailableException;
import dev.holdfast.lock.jdbc.internal.connection.BoundedExecutor;
import dev.holdfast.lock.jdbc.internal.connection.JdbcAddress;
import dev.holdfast.lock.jdbc.internal.connection.JdbcServers;
import dev.holdfast.lock.jdbc.internal.connection.JdbcUri;
import dev.holdfast.lock.jdbc.internal.connection.Threads;
import dev.holdfast.lock.spi.support.ConnectDiagnosis;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.Test;

/** What opens too late is closed, by one or the other; how often the first connection is tried. */
final class OwnPoolTest {
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private static final class Opened implements AutoCloseable {
        volatile boolean begun;
        final AtomicBoolean closed = new AtomicBoolean();

        @Override
        public void close() {
            closed.set(true);
        }
    }

    @Test
    void opensAfterItsCallerHasLeft_isClosed() {
        CountDownLatch left = new CountDownLatch(1);
        Opened late = new Opened();
        assertThatThrownBy(() -> OwnPool.inTime(100, () -> {
                    late.begun = true;
                    awaitUninterruptibly(left);
                    return late;
                }))
                .isInstanceOf(SQLException.class);
        left.countDown();
        await().atMost(PATIENCE).until(() -> late.closed.get() || !late.begun);
    }

    private static void awaitUninterruptibly(CountDownLatch latch) throws SQLException {
        try {
            latch.await();
        } catch (InterruptedException e) {
            throw new SQLException(e);
        }
    }

    /** In the moment in which its caller leaves, as near to it as can be. */
    @Test
    void opensAboutWhenItsCallerLeaves_isReturnedOrClosed() {
        List<Opened> late = new ArrayList<>();
        for (int i = 0; i < 1_000; i++) {
            long untilNanos = System.nanoTime()
                    + TimeUnit.MICROSECONDS.toNanos(
                            1_000 + ThreadLocalRandom.current().nextLong(200));
            Opened opened = new Opened();
            try {
                Opened returned = OwnPool.inTime(1, () -> {
                    opened.begun = true;
                    while (System.nanoTime() - untilNanos < 0) {
                        Thread.onSpinWait();
                    }
                    return opened;
                });
                assertThat(returned.closed).isFalse();
            } catch (SQLException e) {
                late.add(opened);
            }
        }
        assertThat(late).isNotEmpty();
        await().atMost(PATIENCE).until(() -> late.stream().allMatch(each -> each.closed.get() || !each.begun));
    }

    /** An in-memory database lives as long as a connection to it, so the one that is kept must not be replaced after a while. */
    @Test
    void ofAnEmbeddedDatabase_connectionsDoNotRetire() {
        JdbcUri uri = new JdbcUri("jdbc:h2:mem:kept");
        try (OwnPool pool = OwnPool.open(uri, 20_000)) {
            assertThat(OwnPool.isFirst(uri)).as("loaded now").isFalse();
            assertThat(pool.dataSource().getMaxLifetime()).isZero();
            assertThat(pool.dataSource().getMinimumIdle()).isEqualTo(1);
        }
    }

    /** Loading a driver may take longer than a connection may: if the server answers otherwise, it is tried again. */
    @Test
    void firstConnection_thatTakesTooLong_isTriedAgain_whereTheServerAnswersOtherwise() throws IOException {
        SQLException late = new SQLException("late", "08000", new TimeoutException("expect it"));
        try (Greeter postgres = new Greeter('N');
                Greeter other = new Greeter('2')) {
            assertThat(triesOf(late, postgres, 4)).isEqualTo(5);
            assertThat(triesOf(late, postgres, 0)).isEqualTo(1);
            assertThat(triesOf(late, other, 4)).isEqualTo(1);
            SQLException unheard = new SQLException("late", "08000", new SocketTimeoutException("expect it"));
            assertThat(triesOf(unheard, postgres, 1)).isEqualTo(2);
            assertThat(triesOf(new SQLException("Connection attempt timed out.", "08001"), postgres, 1))
                    .isEqualTo(2);
            assertThat(triesOf(new SQLException("expect it", "28P01"), postgres, 4))
                    .as("what is no time-out")
                    .isEqualTo(1);
        }
    }

    /** The pool gives each statement on it a second only. */
    @Test
    void firstConnection_isOpenedAgain_ifThePoolCannotPrepareIt_butNotIfItIsRefused() throws Exception {
        for (int failures = 0; failures < 3; failures++) {
            AtomicInteger opened = new AtomicInteger();
            AtomicInteger left = new AtomicInteger(failures);
            BoundedExecutor.SqlCall<String> pool = () -> {
                if (left.getAndDecrement() > 0) {
                    throw new SQLException("This connection has been closed.", "08003");
                }
                return "prepared";
            };
            if (failures < 2) {
                assertThat(OwnPool.prepared(opened::incrementAndGet, pool)).isEqualTo("prepared");
            } else {
                assertThatThrownBy(() -> OwnPool.prepared(opened::incrementAndGet, pool))
                        .hasMessage("This connection has been closed.");
            }
            assertThat(opened).hasValue(Math.min(2, failures + 1));
        }
        AtomicInteger tries = new AtomicInteger();
        OwnPool.First refused = () -> {
            tries.incrementAndGet();
            throw new SQLException("wrong password", "28P01");
        };
        assertThatThrownBy(() -> OwnPool.prepared(refused, () -> "unreachable")).hasMessage("wrong password");
        assertThat(tries).hasValue(1);
    }

    @Test
    void interruptedCaller_isNotKept() throws IOException {
        try (Greeter postgres = new Greeter('N')) {
            Thread.currentThread().interrupt();
            assertThat(triesOf(new SQLException("late", "08000", new TimeoutException()), postgres, 4))
                    .isEqualTo(1);
        } finally {
            assertThat(Thread.interrupted()).isTrue();
        }
    }

    /** A server that greets, and leaves every login without an answer. */
    @Test
    void serverThatGreetsOnly_isTriedAgainByTheFirstConnectionOnly() throws IOException {
        try (Greeter postgres = new Greeter('N')) {
            JdbcUri uri = new JdbcUri(postgres.address());
            assertThatThrownBy(() -> OwnPool.open(uri, 1_000, new HashSet<>()))
                    .isInstanceOf(LockUnavailableException.class);
            // The driver itself tries with and without TLS.
            assertThat(postgres.logins.get()).isGreaterThan(2);
        }
        try (Greeter postgres = new Greeter('N')) { // another one: the first may see a login of before late
            JdbcUri uri = new JdbcUri(postgres.address());
            assertThatThrownBy(() -> OwnPool.open(uri, 1_000, new HashSet<>(Set.of("postgresql"))))
                    .isInstanceOf(LockUnavailableException.class);
            assertThat(postgres.logins.get()).isLessThanOrEqualTo(2);
        }
    }

    private static int triesOf(SQLException failure, Greeter server, int repeats) {
        AtomicInteger tries = new AtomicInteger();
        JdbcAddress address = new JdbcUri(server.address()).address();
        try (ConnectDiagnosis diagnosis = JdbcServers.diagnosis(address, System.nanoTime() + PATIENCE.toNanos())) {
            assertThatThrownBy(() -> OwnPool.repeated(diagnosis, repeats, () -> {
                        tries.incrementAndGet();
                        throw failure;
                    }))
                    .isInstanceOf(LockException.class)
                    .hasCause(failure);
        }
        return tries.get();
    }

    /** Answers each connection with one letter, and nothing more. */
    private static final class Greeter implements AutoCloseable {
        final ServerSocket port = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        final AtomicInteger logins = new AtomicInteger();

        Greeter(char letter) throws IOException {
            Threads.start("greeting", () -> {
                while (!port.isClosed()) {
                    try {
                        Socket socket = port.accept();
                        Threads.start("greeted", () -> greet(socket, letter));
                    } catch (IOException e) {
                        // This is closed.
                    }
                }
            });
        }

        private void greet(Socket client, char letter) {
            try (Socket socket = client) {
                socket.getInputStream().read(new byte[64]);
                socket.getOutputStream().write(letter);
                if (socket.getInputStream().read(new byte[1024]) > 0) {
                    logins.incrementAndGet();
                    socket.getInputStream().read(); // until the client has gone
                }
            } catch (IOException e) {
                // That client has gone.
            }
        }

        String address() {
            return "jdbc:postgresql://127.0.0.1:" + port.getLocalPort() + "/db";
        }

        @Override
        public void close() throws IOException {
            port.close();
        }
    }
}

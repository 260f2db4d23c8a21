package dev.holdfast.lock.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import dev.holdfast.lock.testkit.server.SelfSignedCertificate;
import java.io.IOException;
import java.net.ConnectException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketTimeoutException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.concurrent.Callable;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import javax.net.SocketFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;
import org.postgresql.PGNotification;

/** A socket that does not wait for the sake of a look. */
final class PromptSocketFactoryTest {
    private static final int LOOKS = 2_000;
    private static final int NOTIFICATIONS = 100;
    private static final Duration PATIENCE = Duration.ofSeconds(30);

    private final SocketFactory factory = new PromptSocketFactory();
    private ServerSocket server;

    @BeforeEach
    void start() throws IOException {
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    }

    @AfterEach
    void stop() throws IOException {
        server.close();
    }

    @Test
    void createSocket_fromALocalPort_isBoundToIt() throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        for (boolean byName : new boolean[] {true, false}) {
            int local;
            try (ServerSocket free = new ServerSocket(0, 1, loopback)) {
                local = free.getLocalPort();
            }
            try (Socket socket = byName
                    ? factory.createSocket("127.0.0.1", server.getLocalPort(), loopback, local)
                    : factory.createSocket(loopback, server.getLocalPort(), loopback, local)) {
                assertThat(socket.getLocalPort()).isEqualTo(local);
                assertThat(socket.getPort()).isEqualTo(server.getLocalPort());
                socket.setSoTimeout(1);
                assertThatThrownBy(() -> socket.getInputStream().read()).hasMessage("nothing has arrived");
            }
        }
        int closed = server.getLocalPort();
        server.close();
        assertThatThrownBy(() -> factory.createSocket("127.0.0.1", closed)).isInstanceOf(ConnectException.class);
        assertThatThrownBy(() -> factory.createSocket(loopback, closed)).isInstanceOf(ConnectException.class);
    }

    /** A plain socket waits for a millisecond each time. */
    @Test
    void nothingThere_isSaidAtOnce() throws Exception {
        try (Socket socket = factory.createSocket(server.getInetAddress(), server.getLocalPort())) {
            assertAtOnce(() -> {
                socket.setSoTimeout(1);
                assertThatThrownBy(() -> socket.getInputStream().read(new byte[1]))
                        .isInstanceOf(SocketTimeoutException.class);
                return true;
            });
        }
    }

    /** Uses the median: a busy machine may pause during some of them. */
    private static void assertAtOnce(Callable<Boolean> look) throws Exception {
        long[] nanos = new long[LOOKS];
        for (int i = 0; i < LOOKS; i++) {
            long startNanos = System.nanoTime();
            look.call();
            nanos[i] = System.nanoTime() - startNanos;
        }
        Arrays.sort(nanos);
        assertThat(nanos[LOOKS / 2]).as("ns, the median").isLessThan(1_000_000);
    }

    @Test
    void whatIsThere_isRead() throws Exception {
        try (Socket socket = factory.createSocket("127.0.0.1", server.getLocalPort());
                Socket other = server.accept()) {
            other.getOutputStream().write(new byte[] {7, 8, 9});
            await().atMost(PATIENCE).until(() -> socket.getInputStream().available() == 3);
            socket.setSoTimeout(1);
            byte[] two = new byte[2];
            assertThat(socket.getInputStream().read(two)).isEqualTo(2);
            assertThat(two).containsExactly(7, 8);
            socket.setSoTimeout(1);
            assertThat(socket.getInputStream().read()).isEqualTo(9);
        }
    }

    /** The first read looks; one that goes on with what has begun to arrive waits for its millisecond, and then for ever again. */
    @Test
    void otherReads_wait() throws Exception {
        try (Socket socket = factory.createSocket();
                Socket other = connected(socket)) {
            socket.setSoTimeout(50);
            long startNanos = System.nanoTime();
            assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
            assertThat(System.nanoTime() - startNanos).isGreaterThan(40_000_000);
            socket.setSoTimeout(1);
            assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
            socket.setSoTimeout(0);
            CompletableFuture<Integer> there = CompletableFuture.supplyAsync(() -> write(other, socket));
            assertThat(socket.getInputStream().read()).isEqualTo(5);
            assertThat(there.get(PATIENCE.toSeconds(), TimeUnit.SECONDS))
                    .as("bytes that were there before")
                    .isZero();
        }
    }

    /** It may be the rest of a TLS record: then it has its millisecond to arrive, as on a plain socket. */
    @Test
    void readBehindALookThatFoundSomething_waits() throws Exception {
        try (Socket socket = factory.createSocket();
                Socket other = connected(socket)) {
            long shortestNanos = Long.MAX_VALUE;
            for (int i = 0; i < 20; i++) {
                other.getOutputStream().write(7);
                await().atMost(PATIENCE)
                        .pollInterval(Duration.ofMillis(1))
                        .until(() -> socket.getInputStream().available() == 1);
                socket.setSoTimeout(1);
                assertThat(socket.getInputStream().read()).isEqualTo(7);
                long startNanos = System.nanoTime();
                assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketTimeoutException.class);
                shortestNanos = Math.min(shortestNanos, System.nanoTime() - startNanos);
            }
            assertThat(shortestNanos).isGreaterThan(500_000);
        }
    }

    /** Writes when the other side is in its read; returns how many bytes were there before. */
    private static int write(Socket to, Socket reader) {
        try {
            LockSupport.parkNanos(20_000_000);
            int there = reader.getInputStream().available();
            to.getOutputStream().write(5);
            return there;
        } catch (IOException e) {
            throw new IllegalStateException(e);
        }
    }

    private Socket connected(Socket socket) throws IOException {
        socket.connect(server.getLocalSocketAddress());
        return server.accept();
    }

    /** What the driver does after each notification: it looks whether there is another one. */
    @Test
    void ofAnAddress_theDriverLooksWithoutWaiting() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        try (OwnPool pool = OwnPool.open(new JdbcUri(address(db)), 3_000);
                Connection connection = pool.dataSource().getConnection()) {
            looksWithoutWaiting(connection.unwrap(PGConnection.class));
        }
    }

    private static void looksWithoutWaiting(PGConnection driver) throws Exception {
        assertAtOnce(() -> {
            assertThat(driver.getNotifications()).isEmpty();
            return true;
        });
    }

    /** TLS reads from the same socket. */
    @Test
    void throughTls_likewise(@TempDir Path folder) throws Exception {
        SelfSignedCertificate own = SelfSignedCertificate.make(folder, "server", "IP:127.0.0.1");
        try (Db db = Db.postgres()) {
            db.execute("COPY (" + lines(own.certificate()) + ") TO PROGRAM 'cat > server.crt'");
            db.execute("COPY (" + lines(own.key()) + ") TO PROGRAM 'cat > server.key && chmod 600 server.key'");
            db.execute("ALTER SYSTEM SET ssl = on");
            assertThat(db.number("SELECT pg_reload_conf()::int")).isEqualTo(1);
            await().atMost(PATIENCE)
                    .until(() ->
                            db.number("SELECT count(*) FROM pg_settings WHERE name = 'ssl' AND setting = 'on'") == 1);
            try (OwnPool pool = OwnPool.open(new JdbcUri(address(db) + "&sslmode=require"), 3_000);
                    Connection connection = pool.dataSource().getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("LISTEN told");
                PGConnection driver = connection.unwrap(PGConnection.class);
                looksWithoutWaiting(driver);
                for (int i = 0; i < NOTIFICATIONS; i++) {
                    db.execute("NOTIFY told, '" + i + "'");
                    PGNotification[] received = driver.getNotifications((int) PATIENCE.toMillis());
                    assertThat(received).hasSize(1);
                    assertThat(received[0].getParameter()).isEqualTo(Integer.toString(i));
                }
            }
        }
    }

    private static String lines(Path file) throws IOException {
        return "SELECT line FROM unnest(string_to_array('"
                + Files.readString(file).strip() + "', E'\\n')) WITH ORDINALITY AS text (line, number) ORDER BY number";
    }

    @Test
    void factoryOfTheAddress_isKept() throws Exception {
        Db db = SharedDb.POSTGRESQL.db();
        int before = Counting.SOCKETS.get();
        String address =
                address(db) + "&socketFactory=" + Counting.class.getName().replace("$", "%24");
        OwnPool.open(new JdbcUri(address), 3_000).close();
        assertThat(Counting.SOCKETS.get()).isGreaterThan(before);
    }

    private static String address(Db db) {
        return db.url() + "?user=" + db.user() + "&password=" + db.password();
    }

    /** The application's own factory. */
    public static final class Counting extends SocketFactory {
        static final AtomicInteger SOCKETS = new AtomicInteger();

        /** For the driver. */
        public Counting() {}

        @Override
        public Socket createSocket() {
            SOCKETS.incrementAndGet();
            return new Socket();
        }

        @Override
        public Socket createSocket(String host, int port) throws IOException {
            SOCKETS.incrementAndGet();
            return new Socket(host, port);
        }

        @Override
        public Socket createSocket(String host, int port, InetAddress from, int localPort) throws IOException {
            SOCKETS.incrementAndGet();
            return new Socket(host, port, from, localPort);
        }

        @Override
        public Socket createSocket(InetAddress host, int port) throws IOException {
            SOCKETS.incrementAndGet();
            return new Socket(host, port);
        }

        @Override
        public Socket createSocket(InetAddress host, int port, InetAddress from, int localPort) throws IOException {
            SOCKETS.incrementAndGet();
            return new Socket(host, port, from, localPort);
        }
    }
}

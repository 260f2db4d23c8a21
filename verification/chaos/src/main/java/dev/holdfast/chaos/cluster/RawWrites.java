package dev.holdfast.chaos.cluster;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Writes as each kind of server takes them. An answer of any kind counts, a refusal by a replica among them. */
final class RawWrites {
    private static final Logger LOG = LoggerFactory.getLogger(RawWrites.class);
    private static final int PATIENCE_MILLIS = 3_000;
    private static final byte[] VALUE = {1};

    private RawWrites() {}

    static RawWrite redis(int port) throws IOException {
        return line(port, "SET holdfast-raw x\r\n");
    }

    static RawWrite memcached(int port) throws IOException {
        return line(port, "set holdfast-raw 0 0 1\r\nx\r\n");
    }

    /** A request whose answer is a line. */
    private static RawWrite line(int port, String request) throws IOException {
        Socket socket = connect(port);
        BufferedInputStream in = new BufferedInputStream(socket.getInputStream());
        OutputStream out = socket.getOutputStream();
        return new RawWrite() {
            @Override
            public void write() throws IOException {
                out.write(request.getBytes(StandardCharsets.US_ASCII));
                int read;
                do {
                    read = in.read();
                } while (read >= 0 && read != '\n');
                if (read < 0) {
                    throw new IOException("the server has closed the connection");
                }
            }

            @Override
            public void close() {
                RawWrites.close(socket);
            }
        };
    }

    /** The holder of a lock that no client uses: the memory store writes no faster than it reads. */
    static RawWrite memory(int port, int holder) throws IOException {
        Socket socket = connect(port);
        DataInputStream in = new DataInputStream(new BufferedInputStream(socket.getInputStream()));
        DataOutputStream out = new DataOutputStream(socket.getOutputStream());
        return new RawWrite() {
            @Override
            public void write() throws IOException {
                out.writeInt(1);
                out.writeByte(holder);
                out.writeUTF("holdfast-raw");
                out.flush();
                in.readInt();
                in.readByte();
            }

            @Override
            public void close() {
                RawWrites.close(socket);
            }
        };
    }

    /** What it has written is written; that its end cannot be reported does not matter. */
    @SuppressWarnings("try") // of interrupts: a thread that is interrupted here ends at its next wait
    private static void close(AutoCloseable resource) {
        try {
            resource.close();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (Exception e) {
            LOG.debug("closing a raw connection", e);
        }
    }

    private static Socket connect(int port) throws IOException {
        Socket socket = new Socket();
        socket.connect(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), PATIENCE_MILLIS);
        socket.setSoTimeout(PATIENCE_MILLIS);
        socket.setTcpNoDelay(true);
        return socket;
    }

    static RawWrite etcd(int port) {
        return http("POST", port, "/v3/kv/put", "{\"key\":\"aG9sZGZhc3QtcmF3\",\"value\":\"eA==\"}");
    }

    static RawWrite consul(int port) {
        return http("PUT", port, "/v1/kv/holdfast-raw", "x");
    }

    private static RawWrite http(String method, int port, String path, String body) {
        HttpClient client = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(Duration.ofMillis(PATIENCE_MILLIS))
                .build();
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + port + path))
                .timeout(Duration.ofMillis(PATIENCE_MILLIS))
                .method(method, HttpRequest.BodyPublishers.ofString(body))
                .build();
        return new RawWrite() {
            @Override
            public void write() throws IOException, InterruptedException {
                HttpResponse<String> response = client.send(request, HttpResponse.BodyHandlers.ofString());
                if (response.statusCode() != 200) {
                    throw new IOException(response.statusCode() + ": " + response.body());
                }
            }

            @Override
            public void close() {
                // Its connections end with it.
            }
        };
    }

    static RawWrite zookeeper(int port) throws IOException, InterruptedException, KeeperException {
        ZooKeeper client = new ZooKeeper("127.0.0.1:" + port, PATIENCE_MILLIS, event -> {});
        String node = "/holdfast-raw";
        try {
            if (client.exists(node, false) == null) {
                client.create(node, VALUE, ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
            }
        } catch (KeeperException.NodeExistsException e) {
            // Another client was quicker.
        } catch (InterruptedException | KeeperException e) {
            close(client);
            throw e;
        }
        return new RawWrite() {
            @Override
            public void write() throws InterruptedException, KeeperException {
                client.setData(node, VALUE, -1);
            }

            @Override
            public void close() {
                RawWrites.close(client);
            }
        };
    }

    /** A row of a table of its own. */
    static RawWrite database(String url) throws SQLException {
        Connection connection = DriverManager.getConnection(url);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("CREATE TABLE IF NOT EXISTS holdfast_raw (n INT)");
            statement.executeUpdate("INSERT INTO holdfast_raw VALUES (0)");
        } catch (SQLException e) {
            close(connection);
            throw e;
        }
        return new RawWrite() {
            @Override
            public void write() throws SQLException {
                try (Statement statement = connection.createStatement()) {
                    statement.executeUpdate("UPDATE holdfast_raw SET n = n + 1");
                }
            }

            @Override
            public void close() {
                RawWrites.close(connection);
            }
        };
    }
}

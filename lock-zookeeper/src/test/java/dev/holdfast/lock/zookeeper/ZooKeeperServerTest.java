package dev.holdfast.lock.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.lock.testkit.server.ZooKeeperServer;
import org.junit.jupiter.api.Test;

class ZooKeeperServerTest {

    @Test
    void single_afterStart_answersCommands() throws Exception {
        try (ZooKeeperServer server = Servers.single().start()) {
            assertThat(server.admin(0, "ruok")).isEqualTo("imok");
            assertThat(server.monitor("zk_packets_received")).isPositive();
            server.restart();
            assertThat(server.admin(0, "srvr")).contains("Mode: standalone");
        }
    }

    @Test
    void ensemble_leaderKilled_electsAnother() throws Exception {
        try (ZooKeeperServer server = Servers.ensemble().start()) {
            int leader = server.leader();
            server.node(leader).kill();
            org.awaitility.Awaitility.await().ignoreExceptions().until(() -> server.leader() != leader);
            server.node(leader).start();
            server.awaitServing();
            assertThat(server.leader()).isNotEqualTo(leader);
        }
    }
}
